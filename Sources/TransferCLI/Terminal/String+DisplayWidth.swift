extension String {
    /// The columns of the text on a terminal; see `DisplayWidth`.
    var displayColumns: Int { reduce(0) { $0 + DisplayWidth.columns(of: $1) } }

    /// The text. If it is wider than `columns`, its middle is replaced by an ellipsis, because file names differ at
    /// both ends.
    func truncatedMiddle(toColumns columns: Int) -> String {
        guard displayColumns > columns else { return self }
        guard columns > 0 else { return "" }
        let tail = (columns - 1) / 2
        return prefix(columns: columns - 1 - tail) + "…" + suffix(columns: tail)
    }

    private func prefix(columns: Int) -> Substring {
        var used = 0
        return prefix { character in
            used += DisplayWidth.columns(of: character)
            return used <= columns
        }
    }

    private func suffix(columns: Int) -> Substring {
        var used = 0
        var start = endIndex
        while start > startIndex {
            let previous = index(before: start)
            used += DisplayWidth.columns(of: self[previous])
            guard used <= columns else { break }
            start = previous
        }
        return self[start...]
    }
}
