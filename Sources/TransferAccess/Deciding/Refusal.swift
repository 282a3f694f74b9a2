import TransferKeys
package import TransferModel

/// The reason why a client is refused, or is no longer admitted.
package struct Refusal: Error, Equatable, Sendable {
    package let code: ResultCode

    /// A sentence for the client. It says what to do, and reveals nothing about other clients.
    package let message: String

    /// Time from the beginning of the attempt until the server answers.
    package let delay: Interval

    /// Time after which a retry can succeed; nil if no retry can.
    package let retryAfter: Interval?

    init(
        _ code: ResultCode, _ message: String, delay: Interval = AttemptLimiter.delay, retryAfter: Interval? = nil
    ) {
        (self.code, self.message) = (code, message)
        (self.delay, self.retryAfter) = (delay, retryAfter)
    }

    static func expired(_ name: String, _ options: AccessOptions) -> Refusal {
        let end = options.expires.map { " on \($0)" } ?? ""
        return Refusal(
            .authenticationFailed, "The access of '\(name)' ended\(end). Ask the server's operator for a new one.")
    }

    static let wrongToken = Refusal(
        .authenticationFailed,
        "The server does not know this token: it is wrong or was removed. Ask the server's operator for a new one."
    )

    static let wrongCode = Refusal(
        .authenticationFailed,
        "This pairing code was used, has expired or is wrong. Run 'transfer access pair' on the server for a new one.")

    package static let wrongLink = Refusal(
        .authenticationFailed,
        "This link was used, has expired or is wrong. Ask the person who gave it to you for a new one.")

    static let wrongSession = Refusal(
        .authenticationFailed, "This session has ended. Ask the server's operator for a new link.")

    static let codeWithoutKey = Refusal(
        .authenticationFailed,
        "A pairing code adds a client's key to the server, and this client has no key. Run 'transfer key new'.")

    static func unknownKey(_ key: PublicKey) -> Refusal {
        let line = AuthorizedKey(key, name: "NAME").line
        return Refusal(
            .authenticationRequired,
            "The server does not know this client. To let it in, run there: transfer access add '\(line)'")
    }

    package static let nothingShown = Refusal(
        .authenticationRequired,
        "The server requires a key or a token, and this client has sent neither.")

    static func paused(_ interval: Interval) -> Refusal {
        Refusal(
            .busy, "Too many attempts from this address failed. Try again in \(Int(interval.seconds.rounded(.up))) s.",
            retryAfter: interval)
    }

    static let tooManyAtOnce = Refusal(
        .busy, "Too many clients are authenticating at the same time. Try again.", delay: Interval(nanoseconds: 0),
        retryAfter: .seconds(1))

    static let withoutCiphers = Refusal(
        .busy, "The server's cryptographic library does not work. Its operator has to repair it.",
        retryAfter: .seconds(30))

    static let revoked = Refusal(
        .authenticationFailed, "The access of this client was revoked.", delay: Interval(nanoseconds: 0))
}
