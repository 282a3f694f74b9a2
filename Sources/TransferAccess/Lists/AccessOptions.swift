package import TransferModel

/// Options that limit one client's access: the first word of a line, such as `folder="camera",quota=20G,write-only`.
package struct AccessOptions: Hashable, Sendable {
    /// Folder that contains all paths of the client; nil for the server's whole directory.
    package var folder: RelativePath?

    /// Most bytes that the client may store; nil for no limit.
    package var quota: UInt64?

    /// Most files, folders and links of the client; nil for no limit.
    package var maximumFiles: UInt64?

    /// Most bytes of one upload; nil for no limit.
    package var maximumUpload: UInt64?

    package var rights = AccessRights.readWrite

    /// Names of people whose uploads the client's mailbox accepts; nil if it accepts everyone's.
    package var mailFrom: [String]?

    /// Time at which the access expires; nil for never.
    package var expires: UTCTime?

    package init() {}

    /// Whether the access has expired.
    package func hasExpired(at now: UTCTime) -> Bool { expires.map { $0 <= now } ?? false }
}

extension AccessOptions: CustomStringConvertible {
    /// The options as a line has them; empty if there are no limits.
    package var description: String {
        var options: [String] = []
        if let folder { options.append("folder=" + Self.quoted(folder.string)) }
        if let quota { options.append("quota=\(quota)") }
        if let maximumFiles { options.append("max-files=\(maximumFiles)") }
        if let maximumUpload { options.append("max-upload=\(maximumUpload)") }
        switch rights {
        case .readWrite: break
        case .noRemove: options.append("no-remove")
        case .readOnly: options.append("read-only")
        case .writeOnly: options.append("write-only")
        }
        if let mailFrom { options.append("mail-from=" + Self.quoted(mailFrom.joined(separator: ","))) }
        if let expires { options.append("expires=\(expires)") }
        return options.joined(separator: ",")
    }

    private static func quoted(_ text: String) -> String {
        var quoted = "\""
        for scalar in text.unicodeScalars {
            if scalar == "\"" || scalar == "\\" { quoted.unicodeScalars.append("\\") }
            quoted.unicodeScalars.append(scalar)
        }
        return quoted + "\""
    }
}
