extension String {
    /// The front of the text, whole characters of Unicode and no more bytes in UTF-8 than that.
    func clipped(to count: Int) -> String {
        guard utf8.count > count else { return self }
        var end = utf8.index(utf8.startIndex, offsetBy: count)
        while UTF8.isContinuation(utf8[end]) { end = utf8.index(before: end) }
        return String(self[..<end])
    }
}
