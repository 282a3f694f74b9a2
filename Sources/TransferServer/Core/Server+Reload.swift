import TransferIO
import TransferIntake
package import TransferKeys
import TransferMail
import TransferModel
import TransferPorts
import TransferSystem

/// New settings for a running server.
package struct ServerReload: Sendable {
    let configuration: ServerConfiguration
    let logFormat: Log.Format
    let logLevel: LogEvent.Level

    /// Names of the settings that take effect.
    let changes: [String]

    /// Names of changed settings that need a restart.
    let fixed: [String]

    /// Called when all new settings are in effect.
    let whenDone: @Sendable () -> Void

    package init(
        configuration: ServerConfiguration, logFormat: Log.Format, logLevel: LogEvent.Level, changes: [String],
        fixed: [String], whenDone: @escaping @Sendable () -> Void
    ) {
        (self.configuration, self.logFormat, self.logLevel) = (configuration, logFormat, logLevel)
        (self.changes, self.fixed, self.whenDone) = (changes, fixed, whenDone)
    }
}

extension Server {
    /// Applies the settings that can change while the server runs, and reads its certificate again. Open connections continue. If any
    /// setting is wrong, the log says so and nothing changes.
    ///
    /// - Parameters:
    ///   - read: reads the new settings; called on the pool.
    ///   - whenShown: called on the pool with the key that clients see from now on; returns events to log.
    package func reload(
        _ read: @escaping @Sendable () throws(ServerError) -> ServerReload,
        whenShown: @escaping @Sendable (KeyFingerprint) -> [LogEvent]
    ) async {
        let read = await core.transport.pool.run { [core] in
            Result { () throws(ServerError) in (try read(), try core.renewedTLS()) }
        }
        switch read {
        case .failure(let error): core.observability.log.write([.notReloaded(error.message)])
        case .success((let reload, let tls)):
            core.apply(reload)
            let key = tls.flatMap(core.show)
            var events = [LogEvent.reloaded(reload.changes, certificate: key)]
            if !reload.fixed.isEmpty { events.append(.needsRestart(reload.fixed)) }
            if let key { events += await core.transport.pool.run { whenShown(key) } }
            core.observability.log.write(events)
        }
    }
}

extension ServerCore {
    /// - Returns: nil if the server shows no certificate from a file.
    fileprivate func renewedTLS() throws(ServerError) -> TLSContext? {
        guard case .certificate(let certificate, let key) = configuration.security else { return nil }
        do throws(TLSError) {
            return try TLSContext.server(
                .files(certificate: certificate, key: key), protocols: frontEnds.protocols,
                webProtocols: frontEnds.webProtocols)
        } catch {
            throw ServerError(error.message)
        }
    }

    /// Shows another certificate to clients that connect from now on.
    ///
    /// - Returns: the fingerprint of the certificate's key.
    fileprivate func show(_ tls: TLSContext) -> KeyFingerprint? {
        transport.security.withLock { $0 = tls }
        return tls.key.map { KeyFingerprint(of: $0.bytes) }
    }

    fileprivate func apply(_ reload: ServerReload) {
        observability.log.change(format: reload.logFormat, level: reload.logLevel)
        var configuration = reload.configuration
        configuration.space = store.change(configuration.space)
        let settings = ServerSettings(configuration)
        transport.currentSettings.withLock { $0 = settings }
        intake.maximumUpload = settings.maximumUpload
        intake.keepUnfinished = settings.keepUnfinished.nanoseconds
        intake.mailroom?.limits = MailLimits(bytes: settings.mailboxQuota)
        transport.limits.withLock { $0.change(perNetwork: settings.maximumPerNetwork) }
        reload.whenDone()
    }
}
