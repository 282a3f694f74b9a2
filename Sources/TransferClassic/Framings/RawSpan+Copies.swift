extension RawSpan {
    /// A copy of the bytes there; the caller has checked that they are inside.
    func array(_ range: Range<Int>) -> [UInt8] {
        extracting(range).withUnsafeBytes { Array($0) }
    }
}
