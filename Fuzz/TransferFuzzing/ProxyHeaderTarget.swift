import TransferIO
import TransferServer
import TransferTestSupport

/// Input: seed of the pieces (2 bytes), then the bytes of a balancer's connection.
enum ProxyHeaderTarget {
    private struct Reading: Equatable {
        var step: ProxyHeaderReader.Step
        var taken = 0
    }

    private static let signature: [UInt8] = [13, 10, 13, 10, 0, 13, 10] + Array("QUIT\n".utf8)

    static func run(_ bytes: [UInt8]) throws(Finding) {
        var input = FuzzInput(bytes)
        let seed: UInt16 = input.integer()
        let stream = input.rest()
        var generator = SplitMix64(seed: UInt64(seed))
        let whole = try read(stream) { $0 }
        try require(read(stream) { _ in 1 } == whole, "Single bytes change the header.")
        try require(read(stream) { .random(in: 1...$0, using: &generator) } == whole, "The pieces change the header.")
        let end = end(of: stream)
        switch whole.step {
        case .needs:
            try require(whole.taken == stream.count && stream.count < end ?? .max, "A whole header needs more.")
        case .invalid: break
        case .header(let header):
            try require(whole.taken == end, "The header ends elsewhere.")
            try check(header, stream)
        }
    }

    /// - Parameter size: bytes to receive at once, of so many that may be received.
    private static func read(_ stream: [UInt8], _ size: (Int) -> Int) throws(Finding) -> Reading {
        var reader = ProxyHeaderReader()
        var reading = Reading(step: reader.step)
        while case .needs(let most) = reader.step, reading.taken < stream.count {
            try require((1...ProxyHeaderReader.mostAtOnce).contains(most), "A step needs \(most) bytes.")
            let piece = stream[reading.taken...].prefix(size(most))
            reader.received(piece)
            reading = Reading(step: reader.step, taken: reading.taken + piece.count)
        }
        // When it shows that the bytes are no header depends on the pieces.
        if case .invalid = reading.step { return Reading(step: .invalid(""), taken: 0) }
        return reading
    }

    /// Where the client's bytes begin; nil if the length of the header is not there.
    private static func end(of stream: [UInt8]) -> Int? {
        guard stream.starts(with: signature) else { return stream.firstIndex(of: 10).map { $0 + 1 } }
        return stream.count < 16 ? nil : 16 + Int(stream[14]) * 256 + Int(stream[15])
    }

    /// Compares the client with the bytes of the header.
    private static func check(_ header: ProxyHeader, _ stream: [UInt8]) throws(Finding) {
        guard case .client(let address, let port) = header else { return }
        guard !stream.starts(with: signature) else {
            let isIPv4 = stream[13] == 0x11
            let place = isIPv4 ? 24 : 48
            try require(Int(port) == Int(stream[place]) * 256 + Int(stream[place + 1]), "It is another port.")
            if case .ipv4(let number) = address, isIPv4 {
                let bytes = (0..<4).map { UInt8(truncatingIfNeeded: number >> UInt32(24 - 8 * $0)) }
                try require(stream[16..<20].elementsEqual(bytes), "It is another address.")
            }
            return
        }
        let line = String(decoding: stream.prefix { $0 != 13 }, as: UTF8.self)
        let words = line.split(separator: " ", omittingEmptySubsequences: false)
        try require(line.utf8.count <= 105 && words.count == 6, "A line of this form is invalid.")
        try require(IPAddress(String(words[2])) == address && words[4] == "\(port)", "It is another client.")
    }
}
