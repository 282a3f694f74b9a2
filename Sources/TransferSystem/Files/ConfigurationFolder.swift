import Glibc

/// The folder with this user's settings, keys and known servers.
package enum ConfigurationFolder {
    /// `$XDG_CONFIG_HOME/transfer`, or `~/.config/transfer` if that variable is not set or has a relative path (XDG
    /// Base Directory Specification).
    ///
    /// - Returns: nil for a user without an existing home directory.
    package static var path: String? {
        path(getenv("XDG_CONFIG_HOME").text, home: getenv("HOME").text.flatMap { access($0, F_OK) == 0 ? $0 : nil })
    }

    /// The reason why there is no folder, and what to do, as a phrase for users.
    package static var absence: String {
        guard let home = getenv("HOME").text, !home.isEmpty else { return "set HOME or XDG_CONFIG_HOME" }
        let reason =
            home.hasPrefix("/") && access(home, F_OK) != 0 ? SystemError(errno: errno, call: "access").reason : nil
        return
            "HOME is '\(home)', which is no folder of this user (\(reason ?? "not a whole path")); set it or XDG_CONFIG_HOME "
            + "to one that is there"
    }

    static func path(_ configuration: String?, home: String?) -> String? {
        if let configuration, configuration.hasPrefix("/") { return "\(configuration)/transfer" }
        if let home, home.hasPrefix("/") { return "\(home)/.config/transfer" }
        return nil
    }
}

extension UnsafeMutablePointer<CChar>? {
    fileprivate var text: String? { flatMap { String(validatingCString: $0) } }
}
