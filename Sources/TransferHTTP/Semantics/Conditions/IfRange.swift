/// Which version of the content a client's `Range` is about (RFC 9110, section 13.1.5).
package enum IfRange: Equatable, Sendable {
    case tag(EntityTag)
    case date(HTTPDate)
    /// It is no tag and no date, or there are two: it fits nothing.
    case unreadable

    /// - Returns: nothing when the field is missing.
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

    /// Whether `Range` may be answered; otherwise the whole content is.
    ///
    /// - Parameter now: a time of change that is not over may be that of two versions: it is compared when it is a
    ///   second or more ago (section 8.8.2.2).
    package func fits(_ current: Preconditions.Current, now: HTTPDate) -> Bool {
        switch self {
        case .tag(let tag): current.tag.map { tag.isStrongly($0) } ?? false
        case .date(let date): current.modified == date && date < now
        case .unreadable: false
        }
    }
}
