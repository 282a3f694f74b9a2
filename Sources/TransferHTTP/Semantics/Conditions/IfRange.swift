/// The version to which a client's `Range` refers (RFC 9110, section 13.1.5).
package enum IfRange: Equatable, Sendable {
    case tag(EntityTag)
    case date(HTTPDate)
    /// The field is neither a tag nor a date, or occurs twice. It matches no version.
    case unreadable

    /// - Returns: nil if the field is missing.
    package init?(_ fields: HTTPFields, now: HTTPDate) {
        let lines = fields.values("if-range")
        guard let line = lines.first else { return nil }
        if lines.count > 1 {
            self = .unreadable
        } else if let tag = EntityTag(field: line) {
            self = .tag(tag)
        } else {
            self = HTTPDate(line, now: now).map { IfRange.date($0) } ?? .unreadable
        }
    }

    /// Whether the server obeys `Range`; if not, it sends the whole content.
    ///
    /// - Parameter now: a date within the last second before this does not match, because two versions may have such a
    ///   date (section 8.8.2.2).
    package func fits(_ current: Preconditions.Current, now: HTTPDate) -> Bool {
        switch self {
        case .tag(let tag): current.tag.map { tag.isStrongly($0) } ?? false
        case .date(let date): current.modified == date && date < now
        case .unreadable: false
        }
    }
}
