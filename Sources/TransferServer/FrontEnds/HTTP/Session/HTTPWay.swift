import TransferHTTP
package import TransferIO

/// How a request reached the server: directly over its connection, or through a trusted proxy.
struct HTTPWay: Equatable, Sendable {
    /// The client's address, which limits and rights are checked against.
    var origin: PeerOrigin

    /// Whether the client used TLS; nil if that is not known.
    var isSecure: Bool?

    /// The host that the client asked for, as a proxy states it; nil without a proxy's statement.
    var host: [UInt8]?

    /// Whether a browser asked for a host name that is not this server's.
    var isMisdirected = false

    /// Whether an origin (RFC 6454, section 7) is that of this server's pages.
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

    /// Removes the port from a host if it is the default port of the scheme.
    private static func without(_ port: [UInt8], _ host: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
        host.suffix(port.count).elementsEqual(port) ? host.dropLast(port.count) : host
    }
}

extension HTTPWay {
    private static let disagreement = HTTPFault(400, "The proxy's fields contradict each other about the client.")
    private static let noAddress = HTTPFault(400, "The client's address in a proxy's field is not valid.")

    /// Takes over what a trusted proxy states about the client. Hops are read from the right, and the first one that is not itself a
    /// trusted proxy counts as the client.
    ///
    /// - Parameter origin: makes an origin of an address.
    /// - Throws: 400 if the fields cannot be parsed, or contradict each other.
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

    /// The client according to one kind of field, `Forwarded` or `X-Forwarded-…`.
    private struct Hop {
        let address: IPAddress?
        let isSecure: Bool?
        let host: String?

        /// - Returns: nil if there is no such field.
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

/// Checks host names for a server that every client may use. A page of another site can have its own host name resolve to this server's
/// address; a browser would then treat it as a page of this server (DNS rebinding). If clients have to show a credential, such a page has
/// none to show.
struct OwnHosts: Sendable {
    /// Fields that browsers send and other programs do not. Every request of a browser has `Accept-Language`, which a page cannot remove;
    /// without TLS, a request can have this field and none of the others.
    private static let marks = ["origin", "sec-fetch-site", "cookie", "referer", "accept-language"]

    private let isAsked: Bool
    private let names: [[UInt8]]
    private let covers: @Sendable (String) -> Bool

    /// - Parameters:
    ///   - isAsked: whether every client may connect; otherwise host names are not checked.
    ///   - names: the server's names, in lower case.
    ///   - covers: whether the server's certificate has a name.
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
        // An IPv6 address in brackets; the parser has checked it.
        if host.first == UInt8(ascii: "[") { return true }
        var name = host.prefix { $0 != UInt8(ascii: ":") }.map { (0x41...0x5A).contains($0) ? $0 | 0x20 : $0 }
        if name.last == UInt8(ascii: ".") { name.removeLast() }
        guard !names.contains(name) else { return true }
        let text = String(decoding: name, as: UTF8.self)
        return IPAddress(text) != nil || covers(text)
    }
}

/// A proxy that the server trusts: it believes what the proxy states about the client of a request.
package enum TrustedProxy: Hashable, Sendable {
    /// Every process that connects to a Unix socket.
    case unix
    /// An address, or all addresses with the same first bits.
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
        // An IPv4 address that is written in IPv6 form takes no prefix, because such a prefix would count the bits of an IPv6 address.
        guard (1...3).contains(digits.count), digits.allSatisfy({ (0x30...0x39).contains($0) }),
            let bits = Int(Substring(digits)), bits <= address.size, address.size == 128 || !first.contains(0x3A)
        else { return nil }
        self = .network(address, bits: bits)
    }

    func contains(_ address: IPAddress) -> Bool {
        guard case .network(let network, let bits) = self else { return false }
        return network.hasPrefix(ofBits: bits, in: address.unmapped)
    }

    /// - Parameter peer: address of the process that is connected.
    func contains(_ peer: SocketAddress) -> Bool {
        guard let address = IPAddress(peer) else { return self == .unix }
        return contains(address)
    }
}

extension IPAddress {
    /// Length of the address in bits.
    fileprivate var size: Int { if case .ipv4 = self { 32 } else { 128 } }

    /// Whether another address begins with the same bits.
    ///
    /// - Parameter bits: at most `size`.
    fileprivate func hasPrefix(ofBits bits: Int, in other: IPAddress) -> Bool {
        switch (self, other) {
        case (.ipv4(let a), .ipv4(let b)): (a ^ b) >> UInt32(32 - bits) == 0
        case (.ipv6(let a, let c), .ipv6(let b, let d)):
            (a ^ b) >> UInt64(max(0, 64 - bits)) == 0 && (bits <= 64 || (c ^ d) >> UInt64(128 - bits) == 0)
        default: false
        }
    }
}
