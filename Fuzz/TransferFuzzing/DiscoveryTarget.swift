import TransferClient
import TransferIO
import TransferModel
import TransferProtocol
import TransferServer

/// Input: how the datagram arrived (1 byte with bits: to many, from the link, marked, from the own port), hops (1
/// byte), then the datagram.
enum DiscoveryTarget {
    private static let ownPort: UInt16 = 5288

    static func run(_ bytes: [UInt8]) throws(Finding) {
        var input = FuzzInput(bytes)
        let way = input.byte()
        let hops = input.byte()
        let datagram = input.rest()
        try encodeAgain(datagram)
        var arrival = DiscoveryResponder.Arrival(
            port: way & 8 == 0 ? 40_000 : ownPort, network: nil, ports: [ownPort])
        (arrival.isForMany, arrival.isFromLink) = (way & 1 != 0, way & 2 != 0)
        (arrival.hops, arrival.trafficClass) = (hops, way & 4 == 0 ? 0 : DiscoveryResponder.mark)
        try reply(to: datagram, arrival)
        try collect(datagram)
    }

    private static func encodeAgain(_ datagram: [UInt8]) throws(Finding) {
        let isOurs = datagram.starts(with: DiscoveryDatagram.magic)
        switch Result(catching: { () throws(DiscoveryFault) in try DiscoveryDatagram.decode(datagram[...]) }) {
        case .failure: try require(isOurs, "What is somebody else's is refused.")
        case .success(.other): try require(!isOurs, "What is ours is somebody else's.")
        case .success(.probe(let nonce)):
            try require(DiscoveryDatagram.probe(with: nonce) == datagram, "A probe has two forms.")
        case .success(.answer(let answer)):
            try require(answer.bytes == datagram, "An answer has two forms.")
            try require(answer.bytes.count <= DiscoveryAnswer.longest, "An answer is too long.")
            try require(shown: answer.name.text)
        }
    }

    /// No reply is larger than the datagram, and another server would not reply to it.
    private static func reply(to datagram: [UInt8], _ arrival: DiscoveryResponder.Arrival) throws(Finding) {
        guard let name = DiscoveryName("fuzz") else { return }
        let now = MonotonicTime(nanoseconds: 0)
        var responder = DiscoveryResponder(.init(name: name, instance: 1), ownPorts: [ownPort], at: now)
        let reply = responder.reply(to: datagram[...], arrival, keyDigest: { nil }, at: now)
        let isSilent =
            arrival.port == ownPort || arrival.trafficClass != 0 || (arrival.isForMany && !arrival.isFromLink)
        switch reply {
        case .nothing: break
        case .answer(let bytes, let hops):
            try require(!isSilent && bytes.count <= datagram.count && hops > 0, "An answer that must not be.")
            let again = responder.reply(to: bytes[...], arrival, keyDigest: { nil }, at: now)
            try require(again == .nothing(.answer), "An answer is answered.")
        case .echo(let hops):
            let isFewer = arrival.isForMany || hops < arrival.hops ?? 0
            try require(!isSilent && isFewer && hops > 0, "An echo that must not be.")
            try require(!datagram.starts(with: DiscoveryDatagram.magic), "What is ours is echoed.")
        }
    }

    /// A client accepts only answers to its own question.
    private static func collect(_ datagram: [UInt8]) throws(Finding) {
        let nonce = DiscoveryNonce(high: 0, low: 0)
        var collector = AnswerCollector(nonce)
        let source = SocketAddress(.ipv4Loopback, port: ownPort)
        for _ in 0..<2 { collector.take(datagram[...], from: source) }
        let servers = collector.servers([])
        guard case .answer(let answer)? = try? DiscoveryDatagram.decode(datagram[...]), answer.nonce == nonce else {
            return try require(servers.isEmpty, "Something else than an answer was taken.")
        }
        try require(servers.count == 1 && servers[0].addresses.count == 1, "One answer is \(servers.count) servers.")
    }
}
