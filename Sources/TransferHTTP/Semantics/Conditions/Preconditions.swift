/// What a client makes its request depend on (RFC 9110, section 13.1): `If-Match`, `If-None-Match`, `If-Modified-Since`
/// and `If-Unmodified-Since`.
package struct Preconditions: Equatable, Sendable {
    /// What there is now under the path.
    package struct Current: Equatable, Sendable {
        package let tag: EntityTag?
        /// To the second and downwards, as `Last-Modified` tells it.
        package let modified: HTTPDate?

        package init(tag: EntityTag?, modified: HTTPDate?) {
            (self.tag, self.modified) = (tag, modified)
        }
    }

    /// What they come to.
    package enum Outcome: Equatable, Sendable {
        case proceed
        /// 304: the client has what there is.
        case notModified
        /// 412: nothing is done.
        case failed
    }

    private let match: EntityTagList?
    private let noneMatch: EntityTagList?
    private let modifiedSince: HTTPDate?
    private let unmodifiedSince: HTTPDate?

    /// - Parameter now: for years of two digits.
    /// - Throws: 400 when a list of tags is none. What is no date is as if it were missing (sections 13.1.3 and
    ///   13.1.4), and so are two dates.
    package init(_ fields: HTTPFields, now: HTTPDate) throws(HTTPFault) {
        match = try EntityTagList(fields.values("if-match"), name: "If-Match")
        noneMatch = try EntityTagList(fields.values("if-none-match"), name: "If-None-Match")
        modifiedSince = Self.date(fields.values("if-modified-since"), now)
        unmodifiedSince = Self.date(fields.values("if-unmodified-since"), now)
    }

    private static func date(_ lines: [[UInt8]], _ now: HTTPDate) -> HTTPDate? {
        lines.count == 1 ? HTTPDate(lines[0], now: now) : nil
    }

    /// Whether the request has any of them.
    package var isEmpty: Bool {
        match == nil && noneMatch == nil && modifiedSince == nil && unmodifiedSince == nil
    }

    /// Whether there must be nothing under the path: `If-None-Match: *` (section 13.1.2).
    package var demandsNothing: Bool { noneMatch == .any }

    /// Goes through them in the order of section 13.2.2.
    ///
    /// - Parameters:
    ///   - current: nothing when there is nothing.
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
