//! The growth of lists whose memory matters in large networks.

use std::collections::VecDeque;

/// Minimum number of places by which a list grows.
const LEAST: usize = 4;

/// Makes room for another element. A full list grows by 25 %, because doubling would waste memory.
#[inline]
pub(crate) fn make_room<T>(list: &mut VecDeque<T>) {
    if list.len() == list.capacity() {
        grow(list);
    }
}

#[cold]
fn grow<T>(list: &mut VecDeque<T>) {
    list.reserve_exact((list.len() / 4).max(LEAST));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_list_grows_by_a_quarter_and_a_short_list_by_4_places() {
        let mut list: VecDeque<u64> = VecDeque::new();
        let mut sizes = Vec::new();
        for number in 0..40 {
            make_room(&mut list);
            list.push_back(number);
            if sizes.last() != Some(&list.capacity()) {
                sizes.push(list.capacity());
            }
        }
        assert_eq!(sizes, [4, 8, 12, 16, 20, 25, 31, 38, 47]);
    }
}
