/// One hop of a request, as a proxy describes it. A client can forge all hops before the last one, and also that one
/// unless the request comes from a configured proxy.
package struct Forwarded: Equatable, Sendable {
    /// The fields that the proxy sets. They are configured, because a proxy passes on fields that it does not set, and
    /// a client can forge those.
    package enum Style: Sendable {
        /// The standard field, `Forwarded` (RFC 7239).
        case standard
        /// The fields `X-Forwarded-For`, `-Proto` and `-Host`.
        case customary
    }

    /// The client's address as written, IPv4 or IPv6 without brackets, not yet parsed; nil if the proxy hides it (RFC
    /// 7239, section 6) or does not name it.
    package let address: String?

    /// Whether the client used TLS; nil if the proxy does not say.
    package let isSecure: Bool?

    /// The authority that the client requested: letters, digits and `-._:[]`.
    package let host: String?

    /// Most bytes of an authority: a DNS name (RFC 1035, section 2.3.4) and a port.
    package static let longestHost = 255 + 6

    /// Most bytes of an address: INET6_ADDRSTRLEN (netinet/in.h) without the NUL.
    package static let longestAddress = 45

    /// The hop directly before this server.
    ///
    /// - Throws: the errors of `hops`.
    package init(_ fields: HTTPFields, _ style: Style) throws(HTTPFault) {
        self = try Self.hops(fields, style).last ?? Forwarded(address: nil, isSecure: nil, host: nil)
    }

    /// All hops; the last one is directly before this server. That hop can be trusted as far as the proxy, and an
    /// earlier hop only if all later ones can be trusted.
    ///
    /// - Throws: 400 if `Forwarded` is malformed anywhere, because an open quote from a client must not swallow the
    ///   proxy's part. In the customary fields only the last member must be well-formed; earlier members that are
    ///   malformed are ignored.
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

    /// Some proxies append to a list at each hop, and some replace it by their own value.
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

    /// Reads `for=…;proto=…;host=…;by=…` (RFC 7239, section 4).
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

    /// The members over all lines; nil in place of each malformed member before the last one.
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

    /// Reads `192.0.2.43`, `192.0.2.43:4711`, `[2001:db8::17]:4711`, and IPv6 without brackets and port; nil for
    /// `unknown` and `_hidden`, which have no address (RFC 7239, section 6).
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
        // An obfuscated port may be any text after an underscore; no known proxy sends one.
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
