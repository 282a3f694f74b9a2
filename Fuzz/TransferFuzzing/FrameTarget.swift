import TransferModel
import TransferProtocol
import TransferTestSupport

/// Input: a seed for the cuts (2 bytes), the stream.
enum FrameTarget {
    /// Longer streams are not read byte by byte: that would take long and show no more.
    private static let longestByteByByte = 2048

    static func run(_ bytes: [UInt8]) throws(Finding) {
        var input = FuzzInput(bytes)
        let seed = input.integer(UInt16.self)
        let stream = input.rest()
        let whole = try FrameReading(stream, arrivingUpTo: CollectionOfOne(stream.count))
        try require(
            FrameReading(stream, arrivingUpTo: cuts(stream.count, seed: seed)) == whole, "The cuts change the frames.")
        if stream.count <= Self.longestByteByByte {
            try require(
                FrameReading(stream, arrivingUpTo: 0...stream.count) == whole, "Single bytes change the frames.")
        }
        try check(whole, stream)
    }

    private static func cuts(_ count: Int, seed: UInt16) -> [Int] {
        var generator = SplitMix64(seed: UInt64(seed))
        let longest = Int(seed % 64) + 1
        var ends = [0]
        while let last = ends.last, last < count {
            ends.append(min(count, last + .random(in: 0...longest, using: &generator)))
        }
        return ends
    }

    /// Data frames have only one encoding, so accepted frames are equal to those that this side would send.
    private static func check(_ reading: FrameReading, _ stream: [UInt8]) throws(Finding) {
        var position = 0
        for frame in reading.frames {
            guard case .data(let encoding, let range, let isWhole) = frame else { continue }
            try require(range.lowerBound >= position && range.upperBound <= reading.consumed, "Bodies overlap.")
            position = range.upperBound
            try require(range.count <= Limits.dataBody, "A data body has \(range.count) bytes.")
            guard isWhole else { continue }
            var header: [UInt8] = []
            FrameHeader(.data, encoding: encoding, bodyLength: range.count).encode(into: &header)
            try require(
                stream[..<range.lowerBound].suffix(header.count).elementsEqual(header), "A data header has two forms.")
        }
        let endsInBody = if case .data(_, _, isWhole: false)? = reading.frames.last { true } else { false }
        try require(reading.isBetweenFrames != endsInBody, "The parser is wrong about where it stands.")
    }
}
