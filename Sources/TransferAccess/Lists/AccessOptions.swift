package import TransferModel

/// What bounds the access of one client: the first word of its line, such as `folder="camera",quota=20G,write-only`.
package struct AccessOptions: Hashable, Sendable {
    /// Where all of its paths are below; nothing for the server's whole directory.
    package var folder: RelativePath?

    /// Bytes that it may have stored.
    package var quota: UInt64?

    /// Files, folders and links that it may have made.
    package var maximumFiles: UInt64?

    /// Bytes of its largest upload.
    package var maximumUpload: UInt64?

    package var rights = AccessRights.readWrite

    /// Names of those whose uploads it takes into its mailbox; nothing for everybody's.
    package var mailFrom: [String]?

    /// When its access ends.
    package var expires: UTCTime?

    package init() {}

    /// Whether its access has ended.
    package func hasExpired(at now: UTCTime) -> Bool { expires.map { $0 <= now } ?? false }
}

extension AccessOptions: CustomStringConvertible {
    /// As it stands in a line; empty for access without bounds.
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
