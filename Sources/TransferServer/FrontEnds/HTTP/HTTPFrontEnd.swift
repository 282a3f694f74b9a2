import TransferHTTP

/// The front end for HTTP/1.1, as docs/HTTP.md has it: for browsers, curl, and every program that uploads over HTTP.
struct HTTPFrontEnd: FrontEnd {
    let name = "http"

    /// RFC 7301, section 6.
    static let names = ["http/1.1", "http/1.0"]

    var protocols: [String] { Self.names }

    /// Whether clients come over a proxy, on a listener that knows no encryption.
    var isPlain = false

    private static let emptyLine = Array("\r\n".utf8)

    let openingSize = emptyLine.count * HTTPLimits.emptyLines + 1

    /// A request begins with its method, and all methods that are in use are upper case letters. Empty lines may stand in front
    /// (RFC 9112, section 2.2).
    func recognise(_ opening: [UInt8]) -> Recognition {
        var rest = opening[...]
        for _ in 0..<HTTPLimits.emptyLines where rest.starts(with: Self.emptyLine) {
            rest = rest.dropFirst(Self.emptyLine.count)
        }
        guard let first = rest.first, !rest.elementsEqual(Self.emptyLine.prefix(1)) else { return .needsMore }
        return (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(first) ? .yes : .no
    }

    func session(for handover: Handover, of core: ServerCore) -> any Session {
        HTTPSession(handover, core, isPlain: isPlain)
    }
}
