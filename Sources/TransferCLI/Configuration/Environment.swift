internal import Glibc
private import TransferSystem

/// Reads the surroundings of this process.
enum Environment {
    /// One variable, if it is set, not empty and UTF-8.
    static func value(of variable: String) -> String? {
        getenv(variable).flatMap { String(validatingCString: $0) }.flatMap { $0.isEmpty ? nil : $0 }
    }

    /// The user's configuration file; nothing for a user without a home.
    static var configurationFile: String? { ConfigurationFolder.path.map { "\($0)/\(ConfigurationFile.name)" } }

    /// What this process was told beside its arguments.
    static var sources: SettingSources {
        SettingSources(variable: value(of:), userFile: configurationFile, content: content(of:))
    }

    /// The content of a configuration file; nothing where there is none, or where this user cannot look: a home can belong to
    /// somebody else, or be no folder.
    static func content(of path: String) throws(ConfigurationFault) -> [UInt8]? {
        do throws(SystemError) {
            let file = try OwnFile(reading: path, atMost: ConfigurationFile.longest, followsLink: true)
            guard file?.isLonger != true else { throw SystemError(errno: EFBIG, call: "read") }
            return file?.content
        } catch {
            let isHidden = error.errno == EACCES && access(OwnFile.folder(of: path), X_OK) != 0
            guard error.errno != ENOTDIR, !isHidden else { return nil }
            throw ConfigurationFault(path, "cannot be read: \(error.reason)")
        }
    }
}
