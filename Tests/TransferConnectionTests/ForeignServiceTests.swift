import Testing
import TransferConnection

@Suite struct ForeignServiceTests {
    @Test(arguments: [
        ("SSH-2.0-OpenSSH_9.9\r\n", "an SSH server"), ("HTTP/1.0 400 Bad Request\r\n", "a web server"),
        ("<!DOCTYPE html>", "a web server"), ("<html>", "a web server"), ("@RSYNCD: 31.0\n", "an rsync server"),
        ("220 mx.example ESMTP\r\n", "a mail server (SMTP)"), ("220-Welcome to Pure-FTPd\r\n", "an FTP server"),
        ("220 ready\r\n", "a mail or FTP server"), ("+OK POP3 ready\r\n", "a POP3 server"),
        ("* OK IMAP4rev1\r\n", "an IMAP server"), ("RFB 003.008\n", "a VNC server"),
        ("-ERR unknown command\r\n", "a Redis server"),
    ])
    func byItsFirstBytes(_ opening: String, _ name: String) {
        #expect(ForeignService(opening: Array(opening.utf8))?.name == name)
    }

    @Test(arguments: ["", "S", "SSH", "hello", "2200 ", "\u{0}\u{2}\u{0}\u{2}", "220"]) func others(_ opening: String) {
        #expect(ForeignService(opening: Array(opening.utf8)) == nil)
    }

    /// Bytes behind the inspected opening change nothing.
    @Test func noMoreThanSoMuch() {
        let late = "220 " + String(repeating: "a", count: ForeignService.openingSize) + " FTP"
        #expect(ForeignService(opening: Array(late.utf8))?.name == "a mail or FTP server")
    }
}
