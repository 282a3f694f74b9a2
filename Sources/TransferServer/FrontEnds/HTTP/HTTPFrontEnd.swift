/// The front end for HTTP/1.1, as docs/HTTP.md has it: for browsers, curl, and every program that uploads over HTTP.
struct HTTPFrontEnd: FrontEnd {
    let name = "http"

    /// RFC 7301, section 6.
    let protocols = ["http/1.1", "http/1.0"]

    let openingSize = 1

    /// A request begins with its method, and all methods that are in use are upper case letters.
    func recognise(_ opening: [UInt8]) -> Recognition {
        guard let first = opening.first else { return .needsMore }
        return (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(first) ? .yes : .no
    }

    func session(for handover: Handover, of core: ServerCore) -> any Session { HTTPSession(handover, core) }
}
