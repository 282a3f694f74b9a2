package import TransferModel
import TransferSystem

/// Content that is for somebody has a folder in the server's own, where no client's path leads.
extension FileStore {
    package func removeMail(_ paths: [RelativePath]) {
        let remover = remover()
        for path in paths where path.leadsToMail { _ = try? remover.begin(path, isRecursive: false) }
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
