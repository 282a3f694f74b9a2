/// The head of an answer: everything before its content.
package struct ResponseHead: Equatable, Sendable {
    /// The status, 100 to 599 (RFC 9110, section 15).
    package let status: Int

    /// A phrase for users; nil stands for the standard phrase of the status.
    package let reason: String?

    package let version: HTTPVersion
    package let fields: HTTPFields

    package init(
        _ status: Int, reason: String? = nil, version: HTTPVersion = .http11, fields: HTTPFields = HTTPFields()
    ) {
        (self.status, self.reason, self.version, self.fields) = (status, reason, version, fields)
    }

    /// Whether the connection stays open after the answer (RFC 9112, section 9.3).
    package var isPersistent: Bool { fields.isPersistent(version) }
}
