import TransferIO
import TransferModel
import TransferSystem

extension BrowserCertificate {
    /// Name of the file in the server's own folder.
    static let fileName = "browser.pem"

    /// Most bytes of the file; a key and a certificate with the most names need about 20,000.
    private static let longestFile = 32 << 10

    /// Reads the certificate for browsers. Makes a new one, durably, if the file does not exist, or if the certificate lacks names or
    /// expires soon; the key stays the same, so that clients that know it recognise it. A file that other users can read, or that is
    /// damaged, is never replaced.
    ///
    /// - Parameter folder: the server's own folder.
    /// - Returns: the certificate, and whether it was made now.
    static func kept(
        in folder: String, for names: [String], of owner: Owner, at now: Int64
    ) throws(ServerError) -> (certificate: BrowserCertificate, isNew: Bool) {
        let path = "\(folder)/\(fileName)"
        let earlier = try find(path)
        if let earlier, earlier.fits(names, of: owner, at: now) { return (earlier, false) }
        let made: BrowserCertificate
        do throws(TLSError) {
            made = try BrowserCertificate(for: names, of: owner, keyOf: earlier, at: now)
        } catch {
            throw ServerError(error.message)
        }
        do throws(SystemError) {
            _ = try OwnFile.write(made.pem, to: path, replaces: true)
        } catch {
            throw fault(path, "cannot be created: \(error.reason).")
        }
        return (made, true)
    }

    private static func find(_ path: String) throws(ServerError) -> BrowserCertificate? {
        let file: OwnFile?
        do throws(SystemError) {
            file = try OwnFile(reading: path, atMost: longestFile)
        } catch {
            throw fault(path, "cannot be read: \(error.reason).")
        }
        guard let file else { return nil }
        guard file.isPrivate else {
            throw fault(
                path,
                "can be read or written by other users, who could then act in the server's name. If no "
                    + "other user has, run 'chmod 600' on it; otherwise remove it, and the server makes a new one."
            )
        }
        guard let found = BrowserCertificate(pem: file.content) else {
            throw fault(
                path, "is not a P-256 key with its certificate in PEM. Remove it, and the server makes a new one.")
        }
        return found
    }

    private static func fault(_ path: String, _ problem: String) -> ServerError {
        ServerError("The certificate for browsers '\(path.escapedForDisplay)' \(problem)")
    }
}
