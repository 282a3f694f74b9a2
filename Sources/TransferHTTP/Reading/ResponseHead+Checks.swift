extension ResponseHead {
    var isInformational: Bool { (100...199).contains(status) }

    /// The framing of the content in the answer to a request (RFC 9112, section 6.3).
    ///
    /// - Throws: 502, and errors of `MessageLength`.
    func framing(for method: HTTPMethod) throws(HTTPFault) -> BodyFraming {
        let length = try length()
        if isInformational || status == 204 || status == 304 || method == .head { return .none }
        return switch length {
        case .length(let length): .length(length)
        case .chunked: .chunked
        case .undeclared where !isPersistent: .untilClose
        case .undeclared: throw HTTPFault(502, "An answer does not say where its content ends.")
        }
    }

    /// The length that the fields declare.
    ///
    /// - Throws: 502 for declared content where it is forbidden, and errors of `MessageLength`.
    func length() throws(HTTPFault) -> MessageLength {
        let length = try MessageLength(fields, version)
        guard isInformational || status == 204 else { return length }
        // RFC 9110, section 8.6, and RFC 9112, section 6.1, forbid both fields in such an answer, but servers send a
        // length of 0 with 204.
        guard length == .undeclared || length == .length(0) else {
            throw HTTPFault(502, "An answer declares content that it cannot have.")
        }
        return length
    }
}
