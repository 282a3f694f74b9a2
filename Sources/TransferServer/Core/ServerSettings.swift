package import TransferModel
package import TransferProtocol
package import TransferPorts

/// The settings of a configuration that can change while a server runs. Open connections keep their timeouts.
package struct ServerSettings: Equatable, Sendable {
    package let maximumUpload: UInt64
    /// Its limits can change; whether there is a quota at all cannot.
    package let space: SpaceLimits
    package let maximumPerNetwork: Int
    package let timeouts: Liveness.Timeouts
    package let drain: Interval
    package let keepUnfinished: Interval
    package let mailboxQuota: UInt64
    package let keepMail: Interval
    package let keepTrash: Interval

    init(_ configuration: ServerConfiguration) {
        maximumUpload = configuration.maximumUpload
        space = configuration.space
        maximumPerNetwork = configuration.maximumPerNetwork
        timeouts = configuration.timeouts
        drain = configuration.drain
        keepUnfinished = configuration.keepUnfinished
        mailboxQuota = configuration.mailboxQuota
        keepMail = configuration.keepMail
        keepTrash = configuration.keepTrash
    }
}
