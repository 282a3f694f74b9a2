import TransferIO
import TransferTestSupport

/// Input: task (1 byte: the lowest bit selects the attacked side; the next bit whether the rest is all that this side
/// receives, instead of changes between two honest sides; the other bits how the wire cuts; from 240 on the rest is
/// what a peer sends after the handshake), then the rest.
enum TLSTarget {
    /// The largest numbers of bytes that a wire accepts and gives at once.
    private static let cuts = [1 << 20, 1, 5, 100, 1000, 16 << 10]

    /// The largest number of pieces of content, so that a conversation over a wire with short pieces does not take too
    /// long.
    private static let mostPieces = 100

    /// More flights than two sides need over the wire with the shortest pieces.
    private static let mostFlights = 10_000

    private static let server = Result { () throws(TLSError) in
        try TLSContext.server(
            .ed25519(seed: [UInt8](repeating: 7, count: 32)), protocols: ["transfer/2", "http/1.1"],
            webProtocols: ["http/1.1"])
    }

    static func run(_ bytes: [UInt8]) throws(Finding) {
        var input = FuzzInput(bytes)
        let task = input.byte()
        let most = cuts[Int(task >> 2) % cuts.count]
        guard task < 240 else { return try PeerWalk.run(isServer: task & 1 == 0, &input, most: most) }
        guard task & 2 == 0 else { return try attack(isServer: task & 1 == 0, input.rest(), most: most) }
        try interfere(isServer: task & 1 == 0, &input, most: most)
    }

    /// Fixed bytes never finish a handshake, because that takes an answer to random bytes of this side.
    private static func attack(isServer: Bool, _ stream: [UInt8], most: Int) throws(Finding) {
        let end = try isServer ? serverEnd([1, 2, 3], most: most) : clientEnd([1, 2, 3], most: most)
        end.run()
        end.deliver(stream)
        var said = 0
        for _ in 0..<mostFlights {
            end.run()
            let flight = end.collect()
            said += flight.count
            if flight.isEmpty { break }
        }
        end.cut()
        end.run()
        try require(!end.isEstablished && end.received.isEmpty, "Bytes alone have made a conversation.")
        try require(end.error != nil, "A cut goes unnoticed.")
        try require(said <= 8192 + stream.count, "\(said) bytes were said to a stream of \(stream.count).")
    }

    /// Whatever is changed in transit, the received bytes are the beginning of the sent ones, and a cut does not count
    /// as the end of the stream.
    private static func interfere(isServer: Bool, _ input: inout FuzzInput, most: Int) throws(Finding) {
        let content = [UInt8](repeating: 0x5A, count: min(Int(input.integer(UInt16.self)), most * mostPieces))
        let answer = [UInt8](repeating: 0xA5, count: Int(input.byte()))
        let client = try clientEnd(content, most: most)
        let server = try serverEnd(answer, most: most)
        var changes = Interference(&input)
        converse(client, server) { changes.apply($0, isUp: $1, only: isServer) }
        try compare(server, said: content, "The server")
        try compare(client, said: answer, "The client")
        guard !changes.hasChangedAnything else { return }
        try require(
            client.error == nil && server.error == nil,
            "An honest conversation fails: \(String(describing: server.error)).")
        try require(client.isClosed && server.isClosed, "An honest conversation doesn't end.")
    }

    private static func converse(_ client: TLSEnd, _ server: TLSEnd, _ change: ([UInt8], Bool) -> [UInt8]) {
        for _ in 0..<mostFlights {
            client.run()
            let up = client.collect()
            server.deliver(change(up, true))
            server.run()
            let down = server.collect()
            client.deliver(change(down, false))
            if up.isEmpty, down.isEmpty { break }
        }
        for end in [client, server] {
            end.run()
            end.cut()
            end.run()
        }
    }

    private static func compare(_ end: TLSEnd, said: [UInt8], _ name: String) throws(Finding) {
        try require(said.starts(with: end.received), "\(name) has received what nobody said.")
        try require(!end.isClosed || end.received == said, "\(name) takes a part for all.")
        try require(
            end.isClosed != (end.error != nil), "\(name) doesn't notice a cut: \(String(describing: end.error)).")
    }

    static func clientEnd(_ content: [UInt8], most: Int) throws(Finding) -> TLSEnd {
        do {
            return try TLSEnd(.client(), content: content, most: most) { _, _ in true }
        } catch {
            throw Finding("A client cannot be made: \(error).")
        }
    }

    static func serverEnd(_ content: [UInt8], most: Int) throws(Finding) -> TLSEnd {
        do {
            return try TLSEnd(server.get(), content: content, most: most)
        } catch {
            throw Finding("A server cannot be made: \(error).")
        }
    }
}
