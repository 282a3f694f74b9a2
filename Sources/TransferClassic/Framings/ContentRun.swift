/// A run of content of a known size, which arrives in any pieces.
struct ContentRun {
    /// The size of the whole run in bytes.
    let size: UInt64

    private(set) var remaining: UInt64

    init(_ size: UInt64) {
        self.size = size
        remaining = size
    }

    var isOver: Bool { remaining == 0 }

    /// Takes the bytes of the run that are available; their number can be 0.
    ///
    /// - Returns: their range in the passed bytes.
    mutating func take(of bytes: RawSpan) -> Range<Int> {
        let count = Int(min(remaining, UInt64(bytes.byteCount)))
        remaining -= UInt64(count)
        return 0..<count
    }

    /// The next step of an upload with this content: `content`, and `end` after all of it.
    mutating func content(in bytes: RawSpan) -> ClassicProgress {
        guard !isOver else { return ClassicProgress(.end(ClassicEnd(size: size))) }
        let piece = take(of: bytes)
        return piece.isEmpty ? ClassicProgress(.needsMore) : ClassicProgress(.content(piece), consumed: piece.count)
    }

    /// The next step over bytes that are skipped.
    mutating func skip(in bytes: RawSpan) -> ClassicProgress {
        let piece = take(of: bytes)
        return piece.isEmpty && !isOver
            ? ClassicProgress(.needsMore) : ClassicProgress(.nothing, consumed: piece.count)
    }
}

extension RawSpan {
    /// A copy of the bytes in a range. The caller has checked that the range is inside this span.
    func array(_ range: Range<Int>) -> [UInt8] {
        extracting(range).withUnsafeBytes { Array($0) }
    }
}
