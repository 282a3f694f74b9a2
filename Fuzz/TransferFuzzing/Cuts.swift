import TransferTestSupport

/// How much of a stream has arrived, each time.
enum Cuts {
    /// Streams up to this long are read byte by byte, too: with longer ones it says no more, and takes long.
    static let longestByteByByte = 2048

    /// Pieces of up to 64 bytes, or of fewer, as the seed has it.
    static func cuts(_ count: Int, seed: UInt16) -> [Int] {
        var generator = SplitMix64(seed: UInt64(seed))
        let longest = Int(seed % 64) + 1
        var ends = [0]
        while let last = ends.last, last < count {
            ends.append(min(count, last + .random(in: 0...longest, using: &generator)))
        }
        return ends
    }

    /// - Throws: a finding where what is read depends on the cuts.
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
