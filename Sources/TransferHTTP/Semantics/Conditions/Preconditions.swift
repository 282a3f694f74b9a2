/// Preconditions of a request (RFC 9110, section 13.1): `If-Match`, `If-None-Match`, `If-Modified-Since` and
/// `If-Unmodified-Since`.
package struct Preconditions: Equatable, Sendable {
    /// The present version under the path.
    package struct Current: Equatable, Sendable {
        package let tag: EntityTag?
        /// Time of modification rounded down to the second, as in `Last-Modified`.
        package let modified: HTTPDate?

        package init(tag: EntityTag?, modified: HTTPDate?) {
            (self.tag, self.modified) = (tag, modified)
        }
    }

    /// The result of the preconditions.
    package enum Outcome: Equatable, Sendable {
        case proceed
        /// 304: the client has the present version.
        case notModified
        /// 412: the request is not performed.
        case failed
    }

    private let match: EntityTagList?
    private let noneMatch: EntityTagList?
    private let modifiedSince: HTTPDate?
    private let unmodifiedSince: HTTPDate?

    /// - Parameter now: used to interpret two-digit years.
    /// - Throws: 400 for a malformed list of tags. Malformed or repeated dates are ignored (sections 13.1.3 and
    ///   13.1.4).
    package init(_ fields: HTTPFields, now: HTTPDate) throws(HTTPFault) {
        match = try EntityTagList(fields.values("if-match"), name: "If-Match")
        noneMatch = try EntityTagList(fields.values("if-none-match"), name: "If-None-Match")
        modifiedSince = Self.date(fields.values("if-modified-since"), now)
        unmodifiedSince = Self.date(fields.values("if-unmodified-since"), now)
    }

    private static func date(_ lines: [[UInt8]], _ now: HTTPDate) -> HTTPDate? {
        lines.count == 1 ? HTTPDate(lines[0], now: now) : nil
    }

    /// Whether the request has no preconditions.
    package var isEmpty: Bool {
        match == nil && noneMatch == nil && modifiedSince == nil && unmodifiedSince == nil
    }

    /// Whether the path must not exist: `If-None-Match: *` (section 13.1.2).
    package var demandsNothing: Bool { noneMatch == .any }

    /// Evaluates the preconditions in the order of section 13.2.2.
    ///
    /// - Parameters:
    ///   - current: nil if the path does not exist.
    ///   - isRead: whether the method is GET or HEAD.
    package func outcome(of current: Current?, isRead: Bool) -> Outcome {
        if let match {
            guard Self.contains(match, current, { $0.isStrongly($1) }) else { return .failed }
        } else if let unmodifiedSince, let modified = current?.modified {
            guard modified <= unmodifiedSince else { return .failed }
        }
        if let noneMatch {
            guard !Self.contains(noneMatch, current, { $0.isWeakly($1) }) else {
                return isRead ? .notModified : .failed
            }
        } else if isRead, let modifiedSince, let modified = current?.modified {
            guard modified > modifiedSince else { return .notModified }
        }
        return .proceed
    }

    private static func contains(
        _ list: EntityTagList, _ current: Current?, _ isSame: (EntityTag, EntityTag) -> Bool
    ) -> Bool {
        guard let current else { return false }
        switch list {
        case .any: return true
        case .tags(let tags):
            guard let tag = current.tag else { return false }
            return tags.contains { isSame($0, tag) }
        }
    }
}
