extension RequestHead {
    /// Checks that need the whole head.
    ///
    /// - Returns: the framing of the content.
    /// - Throws: 400, 413, 417 or 501.
    func checked() throws(HTTPFault) -> BodyFraming {
        try checkHost()
        try checkExpectation()
        return switch try MessageLength(fields, version) {
        case .undeclared: .none
        case .length(let length): .length(length)
        case .chunked: .chunked
        }
    }

    /// Demands one Host in HTTP/1.1 (RFC 9112, section 3.2), and at most one in HTTP/1.0. It must be the same as in the
    /// target: RFC 9112, section 3.2.2, gives precedence to the target's, but not every server does.
    private func checkHost() throws(HTTPFault) {
        let hosts = fields.values("host")
        guard hosts.count <= 1 else { throw HTTPFault(400, "There are two Hosts.") }
        guard hosts.count == 1 || version == .http10 else { throw HTTPFault(400, "There is no Host.") }
        if let host = hosts.first, !HostField.isValid(host) {
            throw HTTPFault(400, "A Host is empty or has characters that it cannot have.")
        }
        guard let authority = RequestTarget.authority(of: target.utf8) else { return }
        guard HostField.isValid(authority) else { throw HTTPFault(400, "The target has no valid authority.") }
        if let host = hosts.first, !HTTPCharacter.areSame(authority, host) {
            throw HTTPFault(400, "The target and the Host differ.")
        }
    }

    private func checkExpectation() throws(HTTPFault) {
        let expectations = fields.values("expect")
        guard let first = expectations.first else { return }
        guard expectations.count == 1, HTTPCharacter.areSame(first, "100-continue") else {
            throw HTTPFault(417, "Expect may only be 100-continue.")
        }
    }
}
