package import TransferIO

/// The client of a connection, as a balancer states it in the PROXY header.
package enum ProxyHeader: Equatable, Sendable {
    /// The balancer forwards a connection of this client.
    case client(IPAddress, port: UInt16)
    /// The balancer has connected by itself, to check the server, or does not know the client's address.
    case balancer
}

/// Reads the header of the PROXY protocol, version 1 or 2 (haproxy.org, proxy-protocol.txt), with which a balancer begins a connection. It
/// neither reads nor waits itself, and never asks for a byte behind the header: the next byte is the client's.
///
/// Call `received` with at most as many bytes as `step` needs, until `step` is something else.
///
/// ```
///   opening ──"PROXY "──────► line, byte by byte near its end ──CR LF──► done
///      └──────signature──► 16 bytes ──► addresses, and what follows them ──► done
/// ```
package struct ProxyHeaderReader {
    /// What the reader needs, or what it has found.
    package enum Step: Equatable, Sendable {
        /// So many bytes can be received without receiving one of the client's; at least 1, at most `mostAtOnce`.
        case needs(Int)
        case header(ProxyHeader)
        /// The bytes are no header. The text follows a colon.
        case invalid(String)
    }

    /// Most bytes that a step needs.
    package static let mostAtOnce = 512

    /// Length of the longest line of version 1, with its end (section 2.1).
    private static let longestLine = 107

    /// Length of "PROXY UNKNOWN", the shortest line of version 1, with its end. Fewer than the 16 bytes with which version 2 begins.
    private static let shortestLine = 15

    private static let linePrefix = Array("PROXY ".utf8)

    /// The first bytes of version 2 (section 2.2).
    private static let signature: [UInt8] = [0x0D, 0x0A, 0x0D, 0x0A, 0, 0x0D, 0x0A, 0x51, 0x55, 0x49, 0x54, 0x0A]

    /// Bytes of version 2 before the addresses.
    private static let fixedSize = 16

    package private(set) var step = Step.needs(shortestLine)

    /// A line of version 1; of version 2, the fixed part and the addresses.
    private var kept: [UInt8] = []

    /// Bytes of a header of version 2 that are still to come; nil before its length is known.
    private var missing: Int?

    package init() {}

    /// - Precondition: `step` needs at least as many bytes.
    package mutating func received(_ bytes: some Collection<UInt8>) {
        // Trap: the caller receives into memory of the size that the step has named.
        guard case .needs(let most) = step, bytes.count <= most else { preconditionFailure("bytes that no step needs") }
        if let missing {
            keepAddresses(bytes)
            self.missing = missing - bytes.count
        } else {
            kept += bytes
        }
        step = next()
    }

    private mutating func keepAddresses(_ bytes: some Collection<UInt8>) {
        kept += bytes.prefix(max(0, Self.fixedSize + Addresses.longest - kept.count))
    }

    private mutating func next() -> Step {
        if let missing { return missing > 0 ? .needs(min(missing, Self.mostAtOnce)) : found }
        if Self.agree(kept, Self.signature) { return nextOfBinary() }
        guard Self.agree(kept, Self.linePrefix) else { return .invalid("the connection does not begin with it") }
        return nextOfLine()
    }

    /// Whether two sequences are equal as far as both go.
    private static func agree(_ bytes: [UInt8], _ expected: [UInt8]) -> Bool {
        zip(bytes, expected).allSatisfy { $0 == $1 }
    }
}

// MARK: Version 1

extension ProxyHeaderReader {
    private func nextOfLine() -> Step {
        if let end = kept.firstIndex(of: 0x0A) {
            guard end == kept.count - 1, end > 0, kept[end - 1] == 0x0D else { return .invalid("its line has no end") }
            return Self.read(line: kept.dropLast(2))
        }
        guard kept.count < Self.longestLine else { return .invalid("its line is too long") }
        guard kept.count >= Self.shortestLine else { return .needs(Self.shortestLine - kept.count) }
        return .needs(kept.last == 0x0D ? 1 : min(2, Self.longestLine - kept.count))
    }

    private static func read(line: ArraySlice<UInt8>) -> Step {
        let words = line.split(separator: 0x20, omittingEmptySubsequences: false)
        // The line begins with a word and a space.
        let protocolName = words.dropFirst().first ?? []
        if protocolName.elementsEqual("UNKNOWN".utf8) { return .header(.balancer) }
        let isIPv6 = protocolName.elementsEqual("TCP6".utf8)
        guard isIPv6 || protocolName.elementsEqual("TCP4".utf8) else { return .invalid("it names another protocol") }
        guard words.count == 6, let client = address(words[2], isIPv6), address(words[3], isIPv6) != nil,
            let clientPort = port(words[4]), port(words[5]) != nil
        else { return .invalid("its addresses are not valid") }
        return .header(.client(client, port: clientPort))
    }

    private static func address(_ word: ArraySlice<UInt8>, _ isIPv6: Bool) -> IPAddress? {
        guard word.contains(UInt8(ascii: ":")) == isIPv6 else { return nil }
        return IPAddress(String(decoding: word, as: UTF8.self))
    }

    private static func port(_ word: ArraySlice<UInt8>) -> UInt16? {
        guard (1...5).contains(word.count), word.allSatisfy({ (0x30...0x39).contains($0) }),
            word.first != 0x30 || word.count == 1
        else { return nil }
        return UInt16(String(decoding: word, as: UTF8.self))
    }
}

// MARK: Version 2

extension ProxyHeaderReader {
    /// What the fixed part says about the addresses behind it.
    private enum Addresses {
        case none, ipv4, ipv6, unix

        /// Most bytes of addresses that are kept.
        static let longest = 36

        /// Family and transport, in one byte. Only streams are forwarded here.
        init?(_ byte: UInt8) {
            switch byte {
            case 0x00: self = .none
            case 0x11: self = .ipv4
            case 0x21: self = .ipv6
            case 0x31: self = .unix
            default: return nil
            }
        }

        /// Bytes of two addresses and two ports.
        var size: Int {
            switch self {
            case .none: 0
            case .ipv4: 12
            case .ipv6: Self.longest
            case .unix: 216
            }
        }
    }

    /// Whether the balancer has connected by itself; nil if the version or the command is not known.
    private var isLocal: Bool? {
        switch kept[Self.signature.count] {
        case 0x20: true
        case 0x21: false
        default: nil
        }
    }

    private mutating func nextOfBinary() -> Step {
        guard kept.count >= Self.fixedSize else { return .needs(Self.fixedSize - kept.count) }
        guard let isLocal else { return .invalid("its version or command is not known") }
        let length = Int(kept[14]) << 8 | Int(kept[15])
        if !isLocal {
            guard let addresses = Addresses(kept[13]) else { return .invalid("it names another protocol") }
            guard length >= addresses.size else { return .invalid("its addresses are cut off") }
        }
        missing = length
        return length > 0 ? .needs(min(length, Self.mostAtOnce)) : found
    }

    /// The result of a whole header. What follows the addresses is not used.
    private var found: Step {
        guard isLocal == false, let addresses = Addresses(kept[13]) else { return .header(.balancer) }
        let start = Self.fixedSize
        switch addresses {
        case .none, .unix: return .header(.balancer)
        case .ipv4:
            return .header(.client(.ipv4(UInt32(number(start, 4))), port: UInt16(number(start + 8, 2))))
        case .ipv6:
            let address = IPAddress.ipv6(high: number(start, 8), low: number(start + 8, 8))
            return .header(.client(address.unmapped, port: UInt16(number(start + 32, 2))))
        }
    }

    /// A number in network byte order; of at most as many bits as its bytes have.
    private func number(_ place: Int, _ size: Int) -> UInt64 {
        kept[place..<place + size].reduce(0) { $0 << 8 | UInt64($1) }
    }
}
