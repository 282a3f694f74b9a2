package import TransferModel

/// The time of modification that a client states for an upload: seconds since 1970 in decimal, with up to nine digits
/// behind the point.
package enum ModificationTime {
    /// The field in a request, or in the head of a form's part.
    package static let field = "transfer-modified"

    /// The field of ownCloud and Nextcloud, which rclone and other WebDAV clients send too.
    package static let ownCloudField = "x-oc-mtime"

    /// - Returns: nil if the request states no time.
    /// - Throws: 400 for a malformed field, or if the two fields state different times.
    package static func read(_ fields: HTTPFields) throws(HTTPFault) -> Timestamp? {
        let own = try fields.only(field).map { (text) throws(HTTPFault) in try read(text.utf8, of: "Transfer-Modified")
        }
        let other = try fields.only(ownCloudField).map { (text) throws(HTTPFault) in
            try read(text.utf8, of: "X-OC-Mtime")
        }
        guard let own, let other else { return own ?? other }
        guard own == other else { throw HTTPFault(400, "Transfer-Modified and X-OC-Mtime state different times.") }
        return own
    }

    /// - Parameter name: of the field, for the fault.
    /// - Throws: 400 for a malformed time.
    static func read(_ text: some Collection<UInt8>, of name: StaticString) throws(HTTPFault) -> Timestamp {
        guard let time = parse(text) else {
            throw HTTPFault(400, "\(name) must be seconds since 1970, such as 1700000000.25.")
        }
        return time
    }

    /// - Returns: nil for a malformed time.
    package static func parse(_ text: some Collection<UInt8>) -> Timestamp? {
        let isNegative = text.first == UInt8(ascii: "-")
        let parts = text.dropFirst(isNegative ? 1 : 0).split(
            separator: UInt8(ascii: "."), maxSplits: 1, omittingEmptySubsequences: false)
        guard let seconds = FieldSyntax.number(parts[0]), let nanoseconds = nanoseconds(parts.dropFirst().first) else {
            return nil
        }
        guard isNegative else { return Timestamp(seconds: seconds, nanoseconds: nanoseconds) }
        // The nanoseconds of a timestamp count forward from its second.
        guard nanoseconds > 0 else { return Timestamp(seconds: -seconds, nanoseconds: 0) }
        return Timestamp(seconds: -seconds - 1, nanoseconds: 1_000_000_000 - nanoseconds)
    }

    /// - Parameter fraction: the digits behind the point; nil without a point.
    private static func nanoseconds(_ fraction: (some Collection<UInt8>)?) -> UInt32? {
        guard let fraction else { return 0 }
        guard 1...9 ~= fraction.count, let number = FieldSyntax.number(fraction) else { return nil }
        return UInt32((fraction.count..<9).reduce(number) { number, _ in number * 10 })
    }
}
