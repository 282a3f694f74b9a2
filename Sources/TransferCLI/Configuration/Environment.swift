internal import Glibc
private import TransferClient
private import TransferSystem

/// Reads the environment and the configuration files of this process.
enum Environment {
    /// The value of a variable; nil if it is unset, empty or not UTF-8.
    static func value(of variable: String) -> String? {
        getenv(variable).flatMap { String(validatingCString: $0) }.flatMap { $0.isEmpty ? nil : $0 }
    }

    /// Whether an argument or the environment sets `--insecure-permissions`. This must be known before the first file
    /// is read.
    static func waivesFileTrust(_ arguments: [String]) -> Bool {
        let flag = Flag.insecurePermissions
        let given = arguments.prefix { $0 != "--" }.last { [flag.spelling, "--no-\(flag.name)"].contains($0) }
        return (given ?? flag.environment.flatMap(value(of:)).map { $0 == Setting.on ? flag.spelling : "" })
            == flag.spelling
    }

    /// The path of the user's configuration file; nil for a user without a home.
    static var configurationFile: String? { ConfigurationFolder.path.map { "\($0)/\(ConfigurationFile.name)" } }

    /// The sources of settings besides the arguments.
    static var sources: SettingSources {
        SettingSources(variable: value(of:), userFile: configurationFile, content: content(of:))
    }

    /// The content of a configuration file. Nil if it does not exist, or its folder is not accessible: the home
    /// directory can belong to another user, or not be a directory.
    static func content(of path: String) throws(ConfigurationFault) -> [UInt8]? {
        let file: OwnFile?
        do throws(SystemError) {
            file = try OwnFile(reading: path, atMost: ConfigurationFile.longest, followsLink: true)
            guard file?.isLonger != true else { throw SystemError(errno: EFBIG, call: "read") }
        } catch {
            let isHidden = error.errno == EACCES && access(OwnFile.folder(of: path), X_OK) != 0
            guard error.errno != ENOTDIR, !isHidden else { return nil }
            throw ConfigurationFault(path, "cannot be read: \(error.reason)")
        }
        guard let file else { return nil }
        do throws(FileTrust.Fault) {
            try FileTrust.check(path)
        } catch {
            throw ConfigurationFault(path, error.problem)
        }
        return file.content
    }
}
