import TransferHTTP
import TransferObjects

/// Input: kind of the text (1 byte), the text, as an object engine or its operator may write it.
enum S3AnswerTarget {
    static func run(_ bytes: [UInt8]) throws(Finding) {
        var input = FuzzInput(bytes)
        let kind = input.byte()
        let text = input.rest()
        switch kind % 4 {
        case 0: try check(xml: text)
        case 1: try check(listing: text)
        case 2: try check(problem: text)
        default: try check(others: text)
        }
    }

    /// Elements are nested as their paths say, and within the limits.
    private static func check(xml text: [UInt8]) throws(Finding) {
        var finding: Finding?
        var open = 0
        try? XMLScanner.read(text) { event in
            switch event {
            case .leaf(let path, let words):
                if path.isEmpty || path.count > XMLScanner.deepest || words.utf8.count > XMLScanner.longestText {
                    finding = Finding("A leaf is nested in \(path.count) elements or has \(words.utf8.count) bytes.")
                }
                open = path.count
            case .end(let path):
                // An element that has others in it ends after one of them.
                if path.count != open - 1 { finding = Finding("An element ends at level \(path.count) after \(open).") }
                open = path.count
            }
        }
        if let finding { throw finding }
    }

    private static func check(listing text: [UInt8]) throws(Finding) {
        guard let answer = try? ListAnswer(text) else { return }
        for entry in answer.entries {
            try require(entry.key.count <= XMLScanner.longestText, "A key has \(entry.key.count) bytes.")
        }
    }

    private static func check(problem text: [UInt8]) throws(Finding) {
        let problem = EngineProblem(text)
        for words in [problem.code, problem.message, problem.region] {
            try require(words.unicodeScalars.count <= EngineProblem.longestWords, "Words for people are too long.")
        }
    }

    private static func check(others text: [UInt8]) throws(Finding) {
        _ = CredentialsFile.credentials(in: text, profile: "default")
        if let range = ContentRange(HTTPFields([HTTPField(name: "content-range", value: text)])) {
            try require(!range.range.isEmpty, "A range is empty.")
        }
        let words = String(decoding: text, as: UTF8.self)
        if let key = ObjectKey(words) {
            try require((1...ObjectKey.longest).contains(key.text.utf8.count), "A key has an impossible length.")
        }
        if let address = try? S3Address(words, S3Address.Options(region: "r"), environment: [:]) {
            try require(!address.bucket.isEmpty && !address.prefix.hasSuffix("/"), "An address is \(address).")
        }
    }
}
