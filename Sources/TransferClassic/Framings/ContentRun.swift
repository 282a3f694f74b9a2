/// So many bytes that come next, in any pieces.
struct ContentRun {
    /// Bytes of all.
    let size: UInt64

    private(set) var remaining: UInt64

    init(_ size: UInt64) {
        self.size = size
        remaining = size
    }

    var isOver: Bool { remaining == 0 }

    /// Takes what is there of them, which is nothing when nothing is there.
    ///
    /// - Returns: where it lies in what is shown.
    mutating func take(of bytes: RawSpan) -> Range<Int> {
        let count = Int(min(remaining, UInt64(bytes.byteCount)))
        remaining -= UInt64(count)
        return 0..<count
    }
}

extension RawSpan {
    /// A copy of the bytes there; the caller has checked that they are inside.
    func array(_ range: Range<Int>) -> [UInt8] {
        extracting(range).withUnsafeBytes { Array($0) }
    }
}
