import TransferCluster
import TransferHTTP
import TransferIO
import TransferModel
import TransferObjects
import TransferPorts
import TransferPostgres
import TransferSystem

/// What a server of a cluster does besides serving.
extension ServerCore {
    /// Seconds by which the clocks of this machine and of the database may differ. Receipts and listings state times of this machine,
    /// and ages are counted in days.
    private static let clockTolerance: Int64 = 60

    /// Whether ages that this machine computes can be trusted, so that files may be removed for their age. The database's clock judges;
    /// a server without a cluster has no other clock.
    func isClockRight() -> Bool {
        guard let node else { return true }
        do throws(LedgerError) {
            let (ahead, overflow) = utcNanoseconds().subtractingReportingOverflow(try node.ledger.mailFacts([], []).now)
            let seconds = overflow ? Int64.max : ahead / 1_000_000_000
            guard seconds.magnitude > Self.clockTolerance else { return true }
            observability.log.write([.clockDiffers(by: seconds)])
        } catch {
            observability.log.write([.expiryFailed(Failure(ledger: error))])
        }
        return false
    }

    /// Deletes objects that nothing needs. Several servers may do this at once.
    func sweep() {
        guard let node else { return }
        do throws(Failure) {
            // A bucket that was exchanged under the server is not touched.
            try node.checkMark()
            let report = try Sweeper(node.bucket, node.ledger).sweep()
            if report.unused > 0 || report.orphans > 0 { observability.log.write([.swept(report)]) }
        } catch {
            observability.log.write([.notSwept(error.message)])
        }
    }
}

extension ClusterNode {
    /// - Throws: if the bucket does not belong to the cluster any more, or cannot be read.
    fileprivate func checkMark() throws(Failure) {
        let found: Bool
        do throws(ObjectError) { found = try ClusterMark(bucket).read() == cluster } catch {
            throw Failure(object: error)
        }
        guard found else {
            throw Failure(
                .storageFailed, "The bucket \(bucket.address) does not belong to the cluster \(cluster) any more.")
        }
    }

    /// Permits what a confined process needs: connections with both engines, and files that are read again for them.
    ///
    /// - Throws: `SystemError` if the kernel refuses a rule.
    func allow(in confinement: borrowing Confinement) throws(SystemError) {
        let credentials = options.address.credentials
        let ports = [bucket.address.endpoint.port] + credentials.ports + pool.configuration.address.ports
        // TCP is also for answers of name servers that do not fit into a datagram (RFC 7766).
        for port in Set(ports + [53]).sorted() { try confinement.allowConnecting(toPort: port) }
        // Only root could read secrets of others beside these files. A file that is replaced later is then not read again.
        let isReplaceable = !Privileges.areRoots
        for path in Self.resolverFiles { try confinement.allowReading(path, isReplaceable: isReplaceable) }
        for path in credentials.files { try confinement.allowReading(path, isReplaceable: true) }
        for path in pool.configuration.address.files { try confinement.allowReading(path, isReplaceable: false) }
    }

    /// Files that the C library reads to resolve names (nsswitch.conf(5), resolv.conf(5), hosts(5), gai.conf(5)).
    private static let resolverFiles = [
        "/etc/resolv.conf", "/etc/hosts", "/etc/nsswitch.conf", "/etc/host.conf", "/etc/gai.conf", "/etc/services",
    ]
}
