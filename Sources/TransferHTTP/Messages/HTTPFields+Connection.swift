extension HTTPFields {
    /// Whether the connection stays open behind the message (RFC 9112, section 9.3).
    func isPersistent(_ version: HTTPVersion) -> Bool {
        let options = list("connection")
        if options.contains(where: { HTTPCharacter.areSame($0.utf8, "close") }) { return false }
        switch version {
        case .http11: return true
        case .http10: return options.contains { HTTPCharacter.areSame($0.utf8, "keep-alive") }
        }
    }
}
