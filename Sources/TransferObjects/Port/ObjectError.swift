package import TransferModel

/// The reason why an object could not be stored, read, removed or listed.
package struct ObjectError: Error, Equatable, Sendable {
    package enum Reason: Equatable, Sendable, CaseIterable {
        /// The engine has too many requests or failed in itself; trying again later may help.
        case busy
        /// The engine could not be reached, or the connection was cut or silent for too long.
        case unreachable
        /// The engine's certificate is not trusted, or TLS cannot be used with it.
        case untrusted
        /// The engine refused the credentials, or no credentials exist.
        case refused
        /// The credentials are valid, but do not permit this, or the bucket is read-only.
        case forbidden
        /// The bucket does not exist.
        case noBucket
        /// The object does not exist.
        case notFound
        /// The bytes that were stored or read are not those that they should be, or the engine's answer makes no sense.
        case damaged
        /// The engine's storage, or the quota of the bucket, is full.
        case full
        /// The clocks of this machine and of the engine differ too much, even after a correction.
        case clockSkew
        /// The address, the region or the request is wrong, so that no repetition helps.
        case misconfigured
    }

    package let reason: Reason

    /// A sentence for the operator: what happened, and what to do about it.
    package let message: String

    /// Time for which the engine asks not to be called again (Retry-After); nil if it does not say.
    package let wait: Interval?

    package init(_ reason: Reason, _ message: String, wait: Interval? = nil) {
        (self.reason, self.message, self.wait) = (reason, message, wait)
    }

    /// Whether the same call can succeed later without any action of the operator.
    package var isTransient: Bool { reason == .busy || reason == .unreachable }
}
