/// `Retry-After` (RFC 9110, section 10.2.3).
package enum RetryAfter: Equatable, Sendable {
    case seconds(Int64)
    /// A date as it was sent. It is interpreted later, because its meaning depends on the present time.
    case date([UInt8])

    /// - Returns: nil if the field is missing or malformed.
    package init?(_ fields: HTTPFields) {
        guard let value = fields.values("retry-after").first else { return nil }
        if value.allSatisfy(HTTPCharacter.isDigit) {
            guard let seconds = FieldSyntax.number(value) else { return nil }
            self = .seconds(seconds)
        } else {
            self = .date(value)
        }
    }

    /// - Parameter now: seconds since 1970.
    /// - Returns: seconds to wait, 0 or more; nil for an invalid date.
    package func seconds(now: Int64) -> Int64? {
        switch self {
        case .seconds(let seconds): return max(0, seconds)
        case .date(let text):
            let present = HTTPDate(clamping: now)
            return HTTPDate(text, now: present).map { max(0, $0.seconds - present.seconds) }
        }
    }
}
