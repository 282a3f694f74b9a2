import Glibc

/// Where this user's settings, keys and known servers are.
package enum ConfigurationFolder {
    /// `$XDG_CONFIG_HOME/transfer`, or `~/.config/transfer` where that is not set (XDG Base Directory Specification); a
    /// relative path counts as not set.
    ///
    /// - Returns: nothing for a user without a home directory; one that is not there is none.
    package static var path: String? {
        path(getenv("XDG_CONFIG_HOME").text, home: getenv("HOME").text.flatMap { access($0, F_OK) == 0 ? $0 : nil })
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
