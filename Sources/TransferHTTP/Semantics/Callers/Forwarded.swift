/// What a proxy says of whom it asks for: one hop. A client can have written all that stands before the last one. It must be
/// believed only when it comes from a proxy that is configured.
package struct Forwarded: Equatable, Sendable {
    /// Which fields a proxy sets. It is configured: what a proxy does not set a client can, and it comes through.
    package enum Style: Sendable {
        /// `Forwarded` (RFC 7239).
        case standard
        /// `X-Forwarded-For`, `-Proto` and `-Host`.
        case customary
    }

    /// An address as it is written, IPv4 or IPv6 without brackets, not yet read; nothing where it is hidden (RFC 7239,
    /// section 6) or not told.
    package let address: String?

    /// Whether the client came over TLS; nothing where it is not told.
    package let isSecure: Bool?

    /// The authority that the client asked for, letters, digits and `-._:[]`.
    package let host: String?

    /// Bytes of an authority: a name in DNS (RFC 1035, section 2.3.4) and a port.
    package static let longestHost = 255 + 6

    /// Bytes of an address: INET6_ADDRSTRLEN (netinet/in.h) without the NUL.
    package static let longestAddress = 45

    /// The hop right in front of this server.
    ///
    /// - Throws: as `hops`.
    package init(_ fields: HTTPFields, _ style: Style) throws(HTTPFault) {
        self = try Self.hops(fields, style).last ?? Forwarded(address: nil, isSecure: nil, host: nil)
    }

    /// All hops, the one right in front of this server last. Only that one is worth as much as the proxy, and one before
    /// it as much as those behind it that vouch for it.
    ///
    /// - Throws: 400 when `Forwarded` is malformed anywhere: quotes that a client opens must not swallow what the proxy
    ///   says. In the customary fields what does not stand last may be anything, and says nothing then.
    package static func hops(_ fields: HTTPFields, _ style: Style) throws(HTTPFault) -> [Forwarded] {
        guard style == .customary else { return try standard(fields.values("forwarded")) }
        let addresses = try members(fields.values("x-forwarded-for"), node).map { $0 ?? nil }
        let schemes = try members(fields.values("x-forwarded-proto"), isSecure)
        let hosts = try members(fields.values("x-forwarded-host"), host)
        let count = max(addresses.count, schemes.isEmpty && hosts.isEmpty ? 0 : 1)
        return (0..<count).map { index in
            Forwarded(
                address: addresses.isEmpty ? nil : addresses[index], isSecure: member(index, of: count, schemes),
                host: member(index, of: count, hosts))
        }
    }

    /// Some proxies add to a list for each hop, and some write what they know in its place.
    private static func member<Value>(_ index: Int, of count: Int, _ list: [Value?]) -> Value? {
        (list.count == count ? list[index] : list.last) ?? nil
    }

    private init(address: String?, isSecure: Bool?, host: String?) {
        (self.address, self.isSecure, self.host) = (address, isSecure, host)
    }

    private static let fault = HTTPFault(400, "The fields of a proxy are malformed.")

    private static func standard(_ lines: [[UInt8]]) throws(HTTPFault) -> [Forwarded] {
        var hops: [Forwarded] = []
        for line in lines {
            guard let members = FieldReader.members(line) else { throw fault }
            for member in members { hops.append(try element(member)) }
        }
        return hops
    }

    /// `for=…;proto=…;host=…;by=…` (RFC 7239, section 4).
    private static func element(_ member: ArraySlice<UInt8>) throws(HTTPFault) -> Forwarded {
        var reader = FieldReader(member)
        var pairs: [String: [UInt8]] = [:]
        repeat {
            guard let name = reader.token().map({ FieldSyntax.lowercased($0) }), reader.take("="),
                let value = reader.tokenOrQuotedString(), pairs.updateValue(value, forKey: name) == nil
            else { throw fault }
        } while reader.take(";")
        guard reader.isAtEnd else { throw fault }
        return Forwarded(
            address: try optional(pairs["for"], node) ?? nil, isSecure: try optional(pairs["proto"], isSecure),
            host: try optional(pairs["host"], host))
    }

    private static func optional<Value>(
        _ text: [UInt8]?, _ read: ([UInt8]) throws(HTTPFault) -> Value
    ) throws(HTTPFault) -> Value? {
        guard let text else { return nil }
        return try read(text)
    }

    /// The members over all lines.
    private static func members<Value>(
        _ lines: [[UInt8]], _ read: ([UInt8]) throws(HTTPFault) -> Value
    ) throws(HTTPFault) -> [Value?] {
        var texts: [[UInt8]] = []
        for line in lines {
            guard let members = FieldReader.members(line) else { throw fault }
            texts += members.map { Array($0) }
        }
        guard let last = texts.popLast() else { return [] }
        return texts.map { try? read($0) } + [try read(last)]
    }

    /// `192.0.2.43`, `192.0.2.43:4711`, `[2001:db8::17]:4711`, also IPv6 without brackets where there is no port;
    /// `unknown` and `_hidden` have no address (RFC 7239, section 6).
    private static func node(_ text: [UInt8]) throws(HTTPFault) -> String? {
        if HTTPCharacter.areSame(text, "unknown") || text.first == UInt8(ascii: "_") { return nil }
        var reader = FieldReader(text)
        let address: ArraySlice<UInt8>
        if reader.take("[") {
            address = reader.take(while: isAddress)
            guard reader.take("]"), address.contains(UInt8(ascii: ":")) else { throw fault }
            try port(&reader)
        } else if text.count(where: { $0 == UInt8(ascii: ":") }) > 1 {
            address = reader.take(while: isAddress)
        } else {
            address = reader.take { HTTPCharacter.isDigit($0) || $0 == UInt8(ascii: ".") }
            try port(&reader)
        }
        guard reader.isAtEnd, (2...longestAddress).contains(address.count) else { throw fault }
        return String(decoding: address, as: UTF8.self)
    }

    private static func port(_ reader: inout FieldReader) throws(HTTPFault) {
        guard reader.take(":") else { return }
        let digits = reader.take { HTTPCharacter.isDigit($0) }
        // An obfuscated port may be anything behind an underscore; no proxy is known to send one.
        guard let number = FieldSyntax.number(digits), number <= UInt16.max else { throw fault }
    }

    private static func isAddress(_ byte: UInt8) -> Bool {
        HTTPCharacter.isDigit(byte) || (UInt8(ascii: "a")...UInt8(ascii: "f")).contains(byte | 0x20)
            || byte == UInt8(ascii: ":") || byte == UInt8(ascii: ".")
    }

    private static func isSecure(_ text: [UInt8]) throws(HTTPFault) -> Bool {
        if HTTPCharacter.areSame(text, "https") { return true }
        guard HTTPCharacter.areSame(text, "http") else { throw fault }
        return false
    }

    private static func host(_ text: [UInt8]) throws(HTTPFault) -> String {
        let isHost = text.allSatisfy {
            FieldSyntax.isLetter($0) || HTTPCharacter.isDigit($0) || "-._:[]".utf8.contains($0)
        }
        guard isHost, (1...longestHost).contains(text.count) else { throw fault }
        return FieldSyntax.lowercased(text)
    }
}
