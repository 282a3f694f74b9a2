import TransferTestSupport

/// Cuts of a stream, as the number of bytes that have arrived before each read.
enum Cuts {
    /// Streams up to this length are also read byte by byte: longer ones would take long and show no more.
    static let longestByteByByte = 2048

    /// Pieces of up to 64 bytes, or of fewer, depending on the seed.
    static func cuts(_ count: Int, seed: UInt16) -> [Int] {
        var generator = SplitMix64(seed: UInt64(seed))
        let longest = Int(seed % 64) + 1
        var ends = [0]
        while let last = ends.last, last < count {
            ends.append(min(count, last + .random(in: 0...longest, using: &generator)))
        }
        return ends
    }

    /// - Throws: a finding if the result depends on the cuts.
    static func check<Reading: Equatable>(
        _ count: Int, seed: UInt16, _ read: ([Int]) throws(Finding) -> Reading
    ) throws(Finding) -> Reading {
        let whole = try read([count])
        try require(read(cuts(count, seed: seed)) == whole, "The cuts change the steps.")
        if count <= longestByteByByte {
            try require(read(Array(0...count)) == whole, "Single bytes change the steps.")
        }
        return whole
    }
}
