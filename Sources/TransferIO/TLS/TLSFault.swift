internal import COpenSSL

/// The reason why TLS ended a connection, or never started.
package enum TLSFault: Error, Equatable, Sendable {
    /// The peer doesn't use TLS. The value has its first bytes, at least one.
    case notTLS(opening: [UInt8])

    /// This side's judge did not trust the peer's certificate.
    case untrusted

    /// The peer ended the connection with an alert.
    case alert(String)

    /// Received bytes violated the protocol or were changed on the network. The value is OpenSSL's description.
    case broken(String)

    /// A description that follows a colon.
    package var reason: String {
        switch self {
        case .notTLS: "the other side doesn't speak TLS"
        case .untrusted: "the other side's certificate is not trusted"
        // TLS 1.3 is the only version that this side offers.
        case .alert("protocol version"): "the other side doesn't offer TLS 1.3"
        case .alert(let name): "the other side ended TLS: \(name)"
        case .broken(let words): "TLS failed: \(words)"
        }
    }
}

extension TLSFault {
    /// Takes OpenSSL's latest error on this thread and clears its queue.
    static func taken() -> TLSFault {
        let code = ERR_peek_last_error()
        ERR_clear_error()
        guard code != 0 else { return .broken("no reason given") }
        let number = copenssl_error_reason(code)
        let words = ERR_reason_error_string(code).map { String(cString: $0) } ?? "error \(number)"
        // Alerts of the peer have numbers from SSL_AD_REASON_OFFSET on (ssl(7)), and one byte.
        let alert = number - SSL_AD_REASON_OFFSET
        guard copenssl_error_library(code) == ERR_LIB_SSL, (0...255).contains(alert) else { return .broken(words) }
        return .alert(alertName(alert))
    }

    private static func alertName(_ number: Int32) -> String {
        SSL_alert_desc_string_long(number).map { String(cString: $0) } ?? "alert \(number)"
    }
}

/// The reason why TLS cannot be set up, such as an unusable certificate or key.
package struct TLSError: Error, Equatable, Sendable {
    /// A sentence for the user.
    package let message: String

    package init(_ message: String) {
        self.message = message
    }
}
