internal import TransferAccess
internal import TransferModel

/// Flags of `transfer access pair` that concern browsers.
enum WebPairFlags {
    private static let web = Flag(
        name: "web", help: "Print a link for a browser instead of a command.",
        details: "The browser that opens it and presses its button has access until the session ends."
    ).isOn

    private static let name = AccessFlags.name("With --web: name of the session; browser if not given.")

    private static let ends = FlagKey<UTCTime?, UsageError>(
        Flag(
            name: AccessFlags.expires.flag.name, placeholder: "WHEN", help: "With --web: end the session at WHEN.",
            details:
                "A duration from now, such as 12h, or a time in UTC, such as 2026-12-31T00:00:00Z. After "
                + "30 days if not given."
        )
    ) { (arguments, _) throws(UsageError) in try arguments[AccessFlags.expires] }

    private static let url = FlagKey<String?, UsageError>(
        Flag(
            name: "url", placeholder: "URL",
            help: "With --web: the URL at which browsers reach the server, https://HOST[:PORT].",
            details: "For a server behind a proxy. By default, the address that a command without --web would have.")
    ) { (arguments, flag) throws(UsageError) in
        guard let text = arguments[flag.text] else { return nil }
        guard let base = WebInvitation.base(text) else {
            throw arguments.error(
                "'\(text.escapedForDisplay)' is not the URL of a server, such as https://files.example.org")
        }
        return base
    }

    private static let defaultName = "browser"

    static let all = [web.flag, name.flag, ends.flag, url.flag]

    /// - Returns: nil without `--web`.
    static func terms(_ arguments: ParsedArguments) throws(UsageError) -> WebInvitation.Terms? {
        guard arguments[web] else {
            if let flag = [name.flag, ends.flag, url.flag].first(where: { arguments.isSet($0) }) {
                throw arguments.error("'\(flag.spelling)' needs '\(web.flag.spelling)'")
            }
            return nil
        }
        let after = UTCTime.now.advanced(bySeconds: AccessSecret.sessionSeconds)
        return WebInvitation.Terms(
            name: try arguments[name] ?? defaultName, ends: try arguments[ends] ?? after, base: try arguments[url])
    }
}
