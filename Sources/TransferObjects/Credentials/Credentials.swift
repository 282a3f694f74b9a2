internal import TransferHTTP
package import TransferModel

/// Keys with which requests are signed. Never printed.
package struct Credentials: Equatable, Sendable {
    /// Public name of the key, which every request contains.
    let accessKey: String
    let secret: String
    /// Token of temporary credentials, which every request contains; nil for permanent ones.
    let token: String?
    /// The end of temporary credentials; nil for permanent ones.
    let expires: UTCTime?

    /// Most bytes of each part. Session tokens of AWS have some 1,000 bytes and no documented limit.
    private static let longest = 8000

    /// Checks that the parts can be sent in fields.
    ///
    /// - Returns: nil for empty keys, and for parts with characters that are not visible ASCII.
    package init?(accessKey: String, secret: String, token: String? = nil, expires: UTCTime? = nil) {
        for part in [accessKey, secret, token].compactMap(\.self) {
            guard (1...Self.longest).contains(part.utf8.count), part.utf8.allSatisfy(HTTPCharacter.isVisible) else {
                return nil
            }
        }
        // A slash or comma in the name would change the meaning of `Authorization`.
        guard !accessKey.utf8.contains(where: "/,= ".utf8.contains) else { return nil }
        (self.accessKey, self.secret, self.token, self.expires) = (accessKey, secret, token, expires)
    }
}

extension Credentials: CustomStringConvertible {
    package var description: String { "credentials \(accessKey)" }
}

/// Reads the shared credentials file, as AWS's tools write it ("Configuration and credential file settings").
package enum CredentialsFile {
    /// Most bytes of the file: hundreds of profiles.
    static let largest = 256 << 10

    /// Finds the keys of a profile. Later lines win over earlier ones.
    ///
    /// - Returns: nil if the profile does not exist or lacks keys.
    package static func credentials(in text: [UInt8], profile: String) -> Credentials? {
        var isInProfile = false
        var values: [String: String] = [:]
        for line in text.split(whereSeparator: { $0 == 0x0A || $0 == 0x0D }) {
            let line = trimmed(line)
            guard let first = line.first, first != UInt8(ascii: "#"), first != UInt8(ascii: ";") else { continue }
            if first == UInt8(ascii: "[") {
                let name = trimmed(line.dropFirst().prefix { $0 != UInt8(ascii: "]") })
                isInProfile = name.elementsEqual(profile.utf8)
                continue
            }
            guard isInProfile, let sign = line.firstIndex(of: UInt8(ascii: "=")),
                let value = String(validating: trimmed(line[line.index(after: sign)...]), as: UTF8.self)
            else { continue }
            values[String(decoding: trimmed(line[..<sign]).map(HTTPCharacter.lowercase), as: UTF8.self)] = value
        }
        guard let key = values["aws_access_key_id"], let secret = values["aws_secret_access_key"] else { return nil }
        return Credentials(accessKey: key, secret: secret, token: values["aws_session_token"])
    }

    private static func trimmed(_ text: ArraySlice<UInt8>) -> ArraySlice<UInt8> {
        let front = text.drop(while: HTTPCharacter.isBlank)
        return front.prefix(front.count - front.reversed().prefix(while: HTTPCharacter.isBlank).count)
    }
}
