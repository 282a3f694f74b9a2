import TransferAccess
import TransferHTTP
import TransferModel

/// What a browser shows of its session.
enum SessionCookie {
    /// With the prefix, browsers take it from a host over TLS only, and give it to that one alone (RFC 6265bis, section 4.1.3).
    private static let names = (secure: "__Host-transfer", other: "transfer")

    private static func name(_ way: HTTPWay) -> String { way.isSecure == true ? names.secure : names.other }

    /// - Returns: nothing where a request has none.
    static func value(_ head: RequestHead, _ way: HTTPWay) -> String? {
        CookieField.value(name(way), in: head.fields.values("cookie"))
    }

    /// The fields that give a browser its session.
    static func setting(
        _ secret: AccessSecret, until end: UTCTime, at now: UTCTime, _ way: HTTPWay
    ) -> [(String, String)] {
        // No time is beyond the year 9999, or before 1970.
        fields(secret.text, seconds: end.seconds - now.seconds, way)
    }

    /// The fields that take it back.
    static func clearing(_ way: HTTPWay) -> [(String, String)] { fields("", seconds: 0, way) }

    private static func fields(_ value: String, seconds: Int64, _ way: HTTPWay) -> [(String, String)] {
        let cookie = CookieField.setting(name(way), to: value, seconds: seconds, isSecure: way.isSecure == true)
        return cookie.map { [("Set-Cookie", $0)] } ?? []
    }
}
