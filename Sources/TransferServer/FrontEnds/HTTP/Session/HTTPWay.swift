import TransferHTTP
package import TransferIO

/// How a request has come here: over its connection alone, or by a proxy that is believed.
struct HTTPWay: Equatable, Sendable {
    /// Whoever asks, and what he is held against.
    var origin: PeerOrigin

    /// Whether he came over TLS; nothing where nobody has said so.
    var isSecure: Bool?

    /// The authority that he asked for, as a proxy says it.
    var host: [UInt8]?

    /// Whether a browser asks for a host that this server doesn't know as itself.
    var isMisdirected = false

    /// Whether a page of this server has the origin (RFC 6454, section 7).
    func isOwn(_ origin: [UInt8], _ head: RequestHead) -> Bool {
        let hosts = host.map { [$0] } ?? head.fields.values("host")
        guard hosts.count == 1 else { return false }
        let schemes = isSecure.map { [$0 ? "https" : "http"] } ?? ["https", "http"]
        return schemes.contains { scheme in
            let prefix = Array("\(scheme)://".utf8)
            guard HTTPCharacter.areSame(origin.prefix(prefix.count), prefix) else { return false }
            let port = Array((scheme.utf8.count == 5 ? ":443" : ":80").utf8)
            return HTTPCharacter.areSame(
                Self.without(port, origin.dropFirst(prefix.count)), Self.without(port, hosts[0][...]))
        }
    }

    /// A host without the port that the scheme has anyway.
    private static func without(_ port: [UInt8], _ host: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
        host.suffix(port.count).elementsEqual(port) ? host.dropLast(port.count) : host
    }
}

extension HTTPWay {
    private static let disagreement = HTTPFault(400, "Two fields of a proxy say different things of the client.")
    private static let noAddress = HTTPFault(400, "The address that a proxy tells is none.")

    /// What a proxy that is believed says of the client: by the last hop from the right that isn't one of those itself.
    ///
    /// - Parameter origin: makes one of an address.
    /// - Throws: 400 for what cannot be understood, or says two things.
    mutating func believe(
        _ fields: HTTPFields, _ trusted: [TrustedProxy], origin: (IPAddress) -> PeerOrigin
    ) throws(HTTPFault) {
        let told = [
            try Hop(Forwarded.hops(fields, .standard), trusted), try Hop(Forwarded.hops(fields, .customary), trusted),
        ].compactMap(\.self)
        guard let first = told.first else { return }
        let second = told.last ?? first
        guard first.agrees(with: second) else { throw Self.disagreement }
        if let address = first.address { self.origin = origin(address) }
        isSecure = first.isSecure ?? second.isSecure ?? isSecure
        host = (first.host ?? second.host).map { Array($0.utf8) } ?? host
    }

    /// Where the client stands in what one kind of field says.
    private struct Hop {
        let address: IPAddress?
        let isSecure: Bool?
        let host: String?

        /// - Returns: nothing where there is no such field.
        init?(_ hops: [Forwarded], _ trusted: [TrustedProxy]) throws(HTTPFault) {
            guard var hop = hops.last else { return nil }
            var address = try Self.address(of: hop)
            for earlier in hops.dropLast().reversed() {
                guard let known = address, trusted.contains(where: { $0.contains(known) }) else { break }
                (hop, address) = (earlier, try Self.address(of: earlier))
            }
            (self.address, isSecure, host) = (address, hop.isSecure, hop.host)
        }

        private static func address(of hop: Forwarded) throws(HTTPFault) -> IPAddress? {
            guard let text = hop.address else { return nil }
            guard let address = IPAddress(text) else { throw noAddress }
            return address
        }

        func agrees(with other: Hop) -> Bool {
            func isSame<Value: Equatable>(_ a: Value?, _ b: Value?) -> Bool { a == nil || b == nil || a == b }
            return address == other.address && isSame(isSecure, other.isSecure)
                && isSame(host.map { Array($0.utf8) }, other.host.map { Array($0.utf8) })
        }
    }
}

/// Under which hosts browsers may ask where everybody may come in. A page of another site can have its own name resolve to this
/// server's address, and would then be a page of this server to a browser (DNS rebinding). Where one has to show something, such a
/// page has nothing to show.
struct OwnHosts: Sendable {
    /// Browsers send one of these, and programs none. `Accept-Language` comes with every request of theirs, and a page cannot take
    /// it away; without TLS it may be the only one.
    private static let marks = ["origin", "sec-fetch-site", "cookie", "referer", "accept-language"]

    private let isAsked: Bool
    private let names: [[UInt8]]
    private let covers: @Sendable (String) -> Bool

    /// - Parameters:
    ///   - isAsked: whether everybody may come in.
    ///   - names: of the server, in lower case.
    ///   - covers: whether the server's certificate is for a name.
    init(isAsked: Bool, names: [String], covers: @escaping @Sendable (String) -> Bool) {
        (self.isAsked, self.covers) = (isAsked, covers)
        self.names = names.map { Array($0.utf8) }
    }

    /// Whether a browser asks for another host.
    func isMisdirected(_ head: RequestHead, _ way: HTTPWay) -> Bool {
        guard isAsked, Self.marks.contains(where: head.fields.has) else { return false }
        guard let host = way.host ?? head.fields.values("host").first else { return false }
        return !isOwn(host)
    }

    private func isOwn(_ host: [UInt8]) -> Bool {
        // An address in brackets; it has been checked that it is one.
        if host.first == UInt8(ascii: "[") { return true }
        var name = host.prefix { $0 != UInt8(ascii: ":") }.map { (0x41...0x5A).contains($0) ? $0 | 0x20 : $0 }
        if name.last == UInt8(ascii: ".") { name.removeLast() }
        guard !names.contains(name) else { return true }
        let text = String(decoding: name, as: UTF8.self)
        return IPAddress(text) != nil || covers(text)
    }
}

/// Who is believed when he says whom he asks for.
package enum TrustedProxy: Hashable, Sendable {
    /// Whoever connects to a Unix socket.
    case unix
    /// An address, or all that begin with so many bits of it.
    case network(IPAddress, bits: Int)

    /// - Parameter text: `ADDRESS`, `ADDRESS/BITS` or `unix`.
    package init?(_ text: String) {
        if text.utf8.elementsEqual("unix".utf8) {
            self = .unix
            return
        }
        let parts = text.utf8.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
        guard let first = parts.first, parts.count <= 2, let address = IPAddress(String(Substring(first))) else {
            return nil
        }
        guard parts.count == 2 else {
            self = .network(address, bits: address.size)
            return
        }
        let digits = parts[1]
        // A prefix of an IPv4 address that is written as an IPv6 one would count from another place.
        guard (1...3).contains(digits.count), digits.allSatisfy({ (0x30...0x39).contains($0) }),
            let bits = Int(Substring(digits)), bits <= address.size, address.size == 128 || !first.contains(0x3A)
        else { return nil }
        self = .network(address, bits: bits)
    }

    func contains(_ address: IPAddress) -> Bool {
        guard case .network(let network, let bits) = self else { return false }
        return network.hasPrefix(ofBits: bits, in: address.unmapped)
    }

    /// - Parameter peer: who is connected.
    func contains(_ peer: SocketAddress) -> Bool {
        guard let address = IPAddress(peer) else { return self == .unix }
        return contains(address)
    }
}

extension IPAddress {
    /// Bits.
    fileprivate var size: Int { if case .ipv4 = self { 32 } else { 128 } }

    /// Whether another address begins with the same bits.
    ///
    /// - Parameter bits: no more than there are.
    fileprivate func hasPrefix(ofBits bits: Int, in other: IPAddress) -> Bool {
        switch (self, other) {
        case (.ipv4(let a), .ipv4(let b)): (a ^ b) >> UInt32(32 - bits) == 0
        case (.ipv6(let a, let c), .ipv6(let b, let d)):
            (a ^ b) >> UInt64(max(0, 64 - bits)) == 0 && (bits <= 64 || (c ^ d) >> UInt64(128 - bits) == 0)
        default: false
        }
    }
}
