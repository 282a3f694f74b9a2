extension ResponseHead {
    var isInformational: Bool { (100...199).contains(status) }

    /// Where the content of the answer to a request ends (RFC 9112, section 6.3).
    ///
    /// - Throws: 502 or what `MessageLength` throws.
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

    /// What the fields declare.
    ///
    /// - Throws: 502 for content where there can be none, or what `MessageLength` throws.
    func length() throws(HTTPFault) -> MessageLength {
        let length = try MessageLength(fields, version)
        guard isInformational || status == 204 else { return length }
        // RFC 9110, section 8.6, and RFC 9112, section 6.1, forbid both; servers send a length of 0 with 204.
        guard length == .undeclared || length == .length(0) else {
            throw HTTPFault(502, "An answer declares content that it cannot have.")
        }
        return length
    }
}
