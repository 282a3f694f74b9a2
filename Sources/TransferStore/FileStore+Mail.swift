package import TransferModel
import TransferSystem

/// Content that is for somebody has a folder in the server's own, where no client's path leads.
extension FileStore {
    package func removeMail(_ paths: [RelativePath]) {
        guard let folder = try? tree.open(.mailFolder) else { return }
        for path in paths where RelativePath(mail: path.string) != nil {
            let name = String(path.name)
            guard let status = try? folder.status(name), status.isFile, (try? folder.unlink(name)) != nil else {
                continue
            }
            space?.quota?.removed(ContentVersion(status).size)
        }
    }

    package func mailFiles() -> [RelativePath] {
        guard let directory = try? tree.open(.mailFolder), let stream = try? DirectoryStream(directory) else {
            return []
        }
        var files: [RelativePath] = []
        while let name = try? stream.next() {
            let text = RelativePath.mailFolder.string + "/" + String(decoding: name, as: UTF8.self)
            if let path = RelativePath(mail: text) { files.append(path) }
        }
        return files
    }
}
