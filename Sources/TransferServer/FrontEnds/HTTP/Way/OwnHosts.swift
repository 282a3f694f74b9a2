import TransferHTTP
import TransferIO

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
