/// The first line of a request: `method SP request-target SP HTTP-version` (RFC 9112, section 3), with exactly these
/// spaces.
struct RequestLine: FirstLine {
    static let emptyLines = HTTPLimits.emptyLines

    let method: HTTPMethod
    let target: String
    let version: HTTPVersion

    let size: Int

    init(_ line: UnsafeRawBufferPointer) throws(HTTPFault) {
        guard !line.isEmpty else { throw HTTPFault(400, "Too many empty lines precede the request.") }
        size = line.count + 2
        guard let first = line.firstIndex(of: HTTPCharacter.space),
            let second = line[(first + 1)...].firstIndex(of: HTTPCharacter.space)
        else { throw HTTPFault(400, "The first line is not a method, a target and a version.") }
        let name = line[..<first]
        guard HTTPCharacter.isToken(name) else { throw Self.noMethod }
        version = try HTTPVersion(UnsafeRawBufferPointer(rebasing: line[(second + 1)...]))
        guard let method = HTTPMethod(String(decoding: name, as: UTF8.self)), method != .connect else {
            throw Self.unknownMethod
        }
        self.method = method
        target = String(decoding: line[(first + 1)..<second], as: UTF8.self)
        guard RequestTarget.isValid(target, method) else {
            throw HTTPFault(400, "The target is neither a path nor an HTTP URI.")
        }
    }

    /// - Returns: 414. If the line does not even contain the end of the method, 501 or 400.
    static func fault(longLine line: UnsafeRawBufferPointer) -> HTTPFault {
        let front = line.prefix(HTTPLimits.method + 1)
        guard !front.contains(HTTPCharacter.space) else {
            return HTTPFault(414, "The first line has more than \(HTTPLimits.firstLine) bytes.")
        }
        return HTTPCharacter.isToken(front) ? unknownMethod : noMethod
    }

    private static let noMethod = HTTPFault(400, "The method is not a token.")
    private static let unknownMethod = HTTPFault(501, "The method is not supported.")
}
