/// A set of bytes of a file, as ranges in order, which neither overlap nor touch.
struct ByteRanges: Equatable, Sendable {
    private(set) var ranges: [Range<UInt64>] = []

    init(_ ranges: [Range<UInt64>] = []) { for range in ranges { insert(range) } }

    mutating func insert(_ range: Range<UInt64>) {
        guard !range.isEmpty else { return }
        // Nearly always, bytes come in order.
        if let last = ranges.last, last.upperBound == range.lowerBound {
            ranges[ranges.count - 1] = last.lowerBound..<range.upperBound
            return
        }
        let first = ranges.firstIndex { $0.upperBound >= range.lowerBound } ?? ranges.count
        let end = ranges[first...].firstIndex { $0.lowerBound > range.upperBound } ?? ranges.count
        var joined = range
        if first < end {
            joined = min(range.lowerBound, ranges[first].lowerBound)..<max(range.upperBound, ranges[end - 1].upperBound)
        }
        ranges.replaceSubrange(first..<end, with: [joined])
    }

    mutating func remove(_ range: Range<UInt64>) {
        guard !range.isEmpty else { return }
        ranges = ranges.flatMap { known in
            [
                known.lowerBound..<max(known.lowerBound, min(known.upperBound, range.lowerBound)),
                min(known.upperBound, max(known.lowerBound, range.upperBound))..<known.upperBound,
            ].filter { !$0.isEmpty }
        }
    }

    /// The bytes that are also in a range.
    func clamped(to bounds: Range<UInt64>) -> [Range<UInt64>] {
        ranges.map { $0.clamped(to: bounds) }.filter { !$0.isEmpty }
    }

    func contains(_ range: Range<UInt64>) -> Bool {
        range.isEmpty || ranges.contains { $0.lowerBound <= range.lowerBound && $0.upperBound >= range.upperBound }
    }
}
